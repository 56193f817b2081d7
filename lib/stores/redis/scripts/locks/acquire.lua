-- Grants a free lock, or grants it again to the same attempt.
-- It says the same as lock-rules.ts in the room of locks.
-- ARGV     4 holder, 5 label, 6 ttl ms, 7 the longest ttl ms, 8 the highest token ever answered,
--          9 the highest era ever answered, or 0, 10 how many other locks are looked at, to be
--          forgotten, 11 the highest token ever answered for any lock, or 0, 12 its age in ms
-- Answer   'ok', token, era, note or '', time | 'held', label, ms left, token | 'wait', ms |
--          another version
local holder, label, ttl, asked = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local have, seenEra, lookedAt = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])
local highest, age = ARGV[11], tonumber(ARGV[12])
-- A note is kept for 400 days.
local NOTE_KEPT = 34560000000
local row = readLock()
if row and row.err then return row end

if lastTime then
  observeHighest(highest, age)
  observeEra(seenEra)
  observeToken(row, have)
  if asked > longest then
    -- A longer ttl is stored before it is granted; locks that the last loss forgot may end later.
    if now >= provenAt then proven = longest end
    if ready > now then ready = ready + asked - longest end
    longest, provenAt, isNews = asked, now + lossWindow, true
  end
else
  -- An absent header looks like a lost one.
  era, longest, incarnation = 0, asked, random
  moveTo(highest, age)
  lose()
  observeEra(seenEra)
end

local function grant(one)
  keepLock(one)
  for _, name in ipairs(lookedAt > 0 and redis.pcall('HRANDFIELD', key, lookedAt) or {}) do
    local line = string.sub(name, 1, 2) == 'l:' and redis.call('HGET', key, name)
    local token, till = string.match(line or '', '^(%d+)|%d+|%d+|(%d+)')
    if token then
      local note = 'n:' .. string.sub(name, 3)
      local kept = redis.call('HGET', key, note) and NOTE_KEPT or KEPT
      local from = sum(greatest(token, tokenAt(tonumber(till))), tokenAt(kept))
      if not isLess(tokenAt(now), from) then redis.call('HDEL', key, name, note) end
    end
  end
  return { 'ok', one.token, text(era), redis.call('HGET', key, noteField) or '', text(now) }
end

if isHeldBy(row, holder) then
  row.till = math.max(row.till, now + ttl)
  return grant(row)
end
local isTaken = row and row.till > now
local isProven = ttl <= (now >= provenAt and longest or proven)
local readyAt = isProven and ready or math.max(ready, provenAt)
-- A holder from before the loss will learn that the lock is lost.
if readyAt > now and not (isTaken and row.era == era) then
  keepHeader()
  return { 'wait', text(readyAt - now) }
end
if isTaken then
  keepHeader()
  return { 'held', row.label, text(row.till - now), row.token }
end

local known, first = greatest(row and row.token or '0', have), tokenAt(now)
local token = isLess(known, first) and first or sum(known, '1')
return grant({ token = token, era = era, since = now, till = now + ttl, holder = holder,
  label = label })
