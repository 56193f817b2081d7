-- Grants depend on the append-only file: without it, a restart loses everything since the last
-- save. The granting step checks the file, since it can be disabled at any time.
-- Answer   an error if it is off; the script that grants checks `doubt`, `isSyncing`, `atRiskMs`
local persistence = info('persistence') or ''
local function tells(fact) return string.find(persistence, fact, 1, true) end
if tells('aof_enabled:0') then return { err = 'NOFILE the append-only file is off' } end

-- After the file is enabled again, it contains no new data until a rewrite has ended. This rewrite
-- looks like any other, even after several aborted ones, so grants depend on no running rewrite.
if tells('aof_rewrite_scheduled:1') then
  doubt = { err = 'NEWFILE a rewrite of the append-only file is due' }
elseif tells('aof_last_bgrewrite_status:err') then
  doubt = { err = 'NEWFILE the last rewrite of the append-only file failed' }
elseif tells('aof_rewrite_in_progress:1') then
  local age = string.match(persistence, 'aof_current_rewrite_time_sec:(%d+)') or 0
  atRiskMs = (age + 1) * 1000
end

-- Redis continues to acknowledge writes while an fsync hangs. It begins an fsync one second after
-- the last, unless that is still running. Data at a moment without an fsync is therefore synced at
-- any moment without one a loss window later. A hanging fsync may begin right after such a moment.
isSyncing = (string.match(persistence, 'aof_pending_bio_fsync:(%d+)') or '0') ~= '0'
