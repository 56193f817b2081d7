-- Grants a free lock, or repeats the grant to the same attempt.
-- Implements the same rules as lib/lock/lock-rules.ts.
-- ARGV     6 label, 7 ttl ms, 8 the longest ttl ms, 9 the caller's highest token of this lock,
--          10 the caller's highest era, or 0, 11 the number of other locks to check for deletion,
--          12 the caller's highest token of any lock, or 0
-- Answer   'ok', token, era, note or '' | 'held', label, ms left, token | 'wait', ms, '', '' |
--          another version; then this clock and the server's
local label, ttl, asked = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local have, seenEra, lookedAt, highest = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]), ARGV[12]
-- A note is kept for 400 days.
local NOTE_KEPT = 34560000000
local row = readLock()
if row and row.err then return row end

if lastTime then
  observeHighest(highest)
  observeEra(seenEra)
  observeToken(row, have)
  if asked > longest then
    -- A longer ttl is stored before it is granted; locks from before a loss may end later.
    if now >= provenAt then proven = longest end
    if ready > now then ready = ready + asked - longest end
    longest, provenAt, isNews = asked, now + lossWindow, true
  end
else
  -- An absent header is indistinguishable from a lost one.
  era, longest, incarnation = 0, asked, redis.sha1hex(holder .. text(time))
  moveTo(highest)
  lose()
  observeEra(seenEra)
end

local function grant(one)
  keepLock(one)
  local seen = lookedAt > 0 and redis.pcall('HRANDFIELD', key, lookedAt, 'WITHVALUES') or {}
  for at = 1, #seen, 2 do
    local name = seen[at]
    local token, till = string.match(seen[at + 1], '^(%d+)|%d+|%d+|(%d+)|')
    -- Checks the note only of a lock that ended long ago.
    if token and string.sub(name, 1, 2) == 'l:' and tonumber(till) + KEPT <= now then
      local note = 'n:' .. string.sub(name, 3)
      local kept = redis.call('HMGET', key, note)[1] and NOTE_KEPT or KEPT
      local from = sum(greatest(token, tokenAt(tonumber(till))), tokenAt(kept))
      if not isLess(tokenAt(now), from) then redis.call('HDEL', key, name, note) end
    end
  end
  return { 'ok', one.token, text(era), read[14] or '', text(now), text(time) }
end

if isHeldBy(row) then
  row.till = math.max(row.till, now + ttl)
  return grant(row)
end
local isTaken = row and row.till > now
local isProven = ttl <= (now >= provenAt and longest or proven)
local readyAt = isProven and ready or math.max(ready, provenAt)
-- A holder from before the loss will lose the lock.
if readyAt > now and not (isTaken and row.era == era) then
  keepHeader()
  return { 'wait', text(readyAt - now), '', '', text(now), text(time) }
end
if isTaken then
  keepHeader()
  return { 'held', row.label, text(row.till - now), row.token, text(now), text(time) }
end

local known, first = greatest(greatest(row and row.token or '0', forgotten), have), tokenAt(now)
local token = isLess(known, first) and first or sum(known, '1')
return grant({ token = token, era = era, since = now, till = now + ttl, holder = holder,
  label = label })
