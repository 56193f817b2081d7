-- Lets go of a lock, for whoever holds it, and tells who waits for it.
-- It says what the lock room says in lock-rules.ts.
-- ARGV     4 holder, 5 token or '', 6 ms for which it is kept from others
-- Answer   'released' | 'other' | another version
local holder, token, kept = ARGV[4], ARGV[5], tonumber(ARGV[6])
local row = lastTime and readLock()
if not row then return { 'other' } end
if row.err then return row end
if row.holder ~= holder or token ~= '' and row.token ~= token then
  keepHeader()
  return { 'other' }
end
row.holder, row.till = '', now + kept
keepLock(row)
-- Without the right to it whoever waits asks again a little later.
if kept == 0 then redis.pcall('PUBLISH', key .. ':' .. lock, '') end
return { 'released' }
