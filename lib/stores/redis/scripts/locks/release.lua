-- Releases a lock for its holder, and notifies the callers that wait for it.
-- Implements the same rules as lib/lock/lock-rules.ts.
-- ARGV     6 token or '', 7 ms for which the lock stays reserved
-- Answer   'released' | 'other' | another version
local token, kept = ARGV[6], tonumber(ARGV[7])
local row = lastTime and readLock()
if not row then return { 'other' } end
if row.err then return row end
if row.holder ~= holder or token ~= '' and row.token ~= token then
  keepHeader()
  return { 'other' }
end
row.holder, row.till = '', now + kept
keepLock(row)
-- If PUBLISH is not permitted, the callers poll a little later.
if kept == 0 then redis.pcall('PUBLISH', key .. ':' .. lock, '') end
return { 'released' }
