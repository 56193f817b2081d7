-- Grants depend on the append-only file: without it a restart forgets everything since the last
-- save. It is examined in the step that grants, since it can be switched off at any time.
-- Answer   an error if it is off; the script that grants checks `doubt`, `isSyncing`, `atRiskMs`
local persistence = info('persistence') or ''
local function tells(fact) return string.find(persistence, fact, 1, true) end
if tells('aof_enabled:0') then return { err = 'NOFILE the append-only file is off' } end

-- After it was switched on again, the file holds nothing new until a rewrite of it has ended. That
-- looks like any other rewrite, also after several that were cut short, so grants depend on none.
if tells('aof_rewrite_scheduled:1') then
  doubt = { err = 'NEWFILE a rewrite of the append-only file is due' }
elseif tells('aof_last_bgrewrite_status:err') then
  doubt = { err = 'NEWFILE the last rewrite of the append-only file failed' }
elseif tells('aof_rewrite_in_progress:1') then
  local age = string.match(persistence, 'aof_current_rewrite_time_sec:(%d+)') or 0
  atRiskMs = (age + 1) * 1000
end

-- Redis goes on acknowledging while an fsync hangs. It begins one a second after the last, unless
-- that is still under way: what was there at a moment without one is therefore synced at any later
-- moment without one, a loss window on. A hanging one may have begun right after the last of them.
isSyncing = (string.match(persistence, 'aof_pending_bio_fsync:(%d+)') or '0') ~= '0'
