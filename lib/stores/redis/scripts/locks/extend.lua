-- Extends a lock for its holder, and for no other caller.
-- Implements the same rules as lib/lock/lock-rules.ts.
-- ARGV     6 token, 7 ttl ms, 8 era of the grant, or 0, 9 the caller's highest token of any lock,
--          or 0, 10 the new note of the lock, or '', 11 '1' for an operator's clock reset
-- Answer   'ok', token, era, '' | 'lost', '', '', '' | another version; then this clock and the
--          server's, if there are any locks
local token, ttl, seenEra = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local highest, note = ARGV[9], ARGV[10]
if not lastTime then return { 'lost' } end
local row = readLock()
if row and row.err then return row end

-- Resets the clock, which counts as a loss. Tokens stay above those granted ahead.
local function settle()
  if now > time then
    forgotten = greatest(forgotten, tokenAt(now))
    provenAt = math.max(0, provenAt - (now - time))
    now, slew, ready = time, 0, 0
    lose()
  end
  if row and row.token == token then
    row.till = math.min(row.till, now + math.max(ttl, longest))
    keepLock(row)
  else keepHeader() end
  return { 'lost', '', '', '', text(now), text(time) }
end
if ARGV[11] == '1' then return settle() end

observeHighest(highest)
observeEra(seenEra)
-- The row of a long-held lock may have been removed, which proves nothing.
if row then observeToken(row, token) end
if not isHeldBy(row) or row.token ~= token then
  keepHeader()
  return { 'lost', '', '', '', text(now), text(time) }
end
row.till = math.max(row.till, now + ttl)
keepLock(row)
if note ~= '' then redis.call('HSET', key, noteField, note) end
return { 'ok', token, text(era), '', text(now), text(time) }
