-- Extends a lock for its holder, and for no other caller.
-- It says the same as lock-rules.ts in the room of locks.
-- ARGV     3 holder, 4 token, 5 ttl ms, 6 era of the grant, or 0,
--          7 the highest token ever answered for any lock, or 0, 8 its age in ms,
--          9 the new note of the lock, or ''
-- Answer   'ok', token, era | 'lost' | another version
local holder, token, ttl = ARGV[3], ARGV[4], tonumber(ARGV[5])
local seenEra, highest, age, note = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8]), ARGV[9]
if not lastTime then return { 'lost' } end
local row = readLock()
if row and row.err then return row end
observeHighest(highest, age)
observeEra(seenEra)
-- The row of a lock that was held for long may be gone, which proves nothing.
if row then observeToken(row, token) end
if not isHeldBy(row, holder) or row.token ~= token then
  keepHeader()
  return { 'lost' }
end
row.till = math.max(row.till, now + ttl)
keepLock(row)
if note ~= '' then redis.call('HSET', key, noteField, note) end
return { 'ok', token, text(era) }
