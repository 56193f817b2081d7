-- Leases the worker id that has been free for longest; the same token gets its lease again.
-- ARGV     10 token, 11 nonce, 12 lowest and 13 highest worker id, 14 shortest range ms, 15 the
--          end of the range still in use, or 0, 16 label, 17 1 to take one worker id over, else
--          0; the registry that granted the last range, or '': 18 incarnation, 19 server, 20 era,
--          and 21 the highest ceiling granted there
-- Answer   'ok' as above | 'none-free', wait | 'wait', wait, 'stored' where it only has to get
--          older | another layout, another version
local token, nonce, label = ARGV[10], ARGV[11], ARGV[16]
local workerMin, workerMax = tonumber(ARGV[12]), tonumber(ARGV[13])
local minRange, have = tonumber(ARGV[14]), tonumber(ARGV[15])
local takesOver = ARGV[17] == '1'
local seenIncarnation, seenServer = ARGV[18], ARGV[19]
local seenEra, seenHave = tonumber(ARGV[20]), tonumber(ARGV[21])

local refused = refusal(have)
if refused then return refused end
if isLive(have) then claim() end
if seenServer ~= '' then observeMark(seenIncarnation, seenServer, seenEra, seenHave) end

local spanMin, spanMax = spanIn(fingerprint)
if spanMin then
  workerMin, workerMax = math.max(workerMin, spanMin), math.min(workerMax, spanMax)
end
if not spanMin or workerMin > workerMax then return answer('layout-mismatch', fingerprint) end

local ceiling = now + ttl
local held = redis.call('HGET', key, 'k' .. token)
if held then
  local holder = readHolder(held)
  local isAdmitted = tonumber(held) >= workerMin and tonumber(held) <= workerMax
  if holder.era == era and isAdmitted and not missedMove(holder) then
    holder.moves = moveCount(fingerprint)
    local stored = tonumber(redis.call('HGET', key, 'c' .. held))
    ceiling = math.max(stored, ceiling)
    return grantKept(tonumber(held), holder, ceiling, stored, minRange, 'wait')
  end
  forget(held, holder)
end

local worker, last = search(workerMin, workerMax)
local isClaim = takesOver and workerMin == workerMax
if last > now and not isClaim then return answer('none-free', last - now) end

-- Never max(now, floor) + ttl: a ceiling further than one ttl ahead could outlive its quarantine.
local floor = math.max(last, safeFloor, layoutFloor)
local wait = floor + minRange - ceiling
if wait > 0 then return answer('wait', wait) end

local before = readHolder(worker)
if before then forget(worker, before) end
redis.call('HSET', key, 'k' .. token, worker)
-- The layout is claimed only now: a newcomer that waits may yet be refused for an earlier holder.
claim()
local holder = { token = token, nonce = nonce, floor = floor, era = era, since = now,
  moves = moveCount(fingerprint), label = label }
return grantKept(worker, holder, ceiling, nil, minRange, 'wait')
