-- Raises the ceiling of a lease, only for the holder of its token and nonce.
-- ARGV     10 token, 11 nonce, 12 next nonce, 13 worker id, 14 highest ceiling the holder was
--          answered, 15 incarnation, 16 server and 17 operations it was answered, 18 shortest
--          range ms, 19 era it was answered, 20 the nonce before, or ''
-- Answer   'ok' as above | 'hold', wait, 'stored' where it only has to get older | 'fenced', floor
--          of the holder | 'unknown' | 'cloned' and 'left' if this server had been left, else '' |
--          another layout, another version
local token, nonce, nextNonce = ARGV[10], ARGV[11], ARGV[12]
local worker, have, minRange = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[18])
local seenIncarnation, seenServer, seenOperations = ARGV[15], ARGV[16], tonumber(ARGV[17])
local seenEra, nonceBefore = tonumber(ARGV[19]), ARGV[20]

local refused = refusal(have)
if refused then return refused end
claim()

local seen = redis.call('HMGET', key, 'c' .. worker, 'o' .. worker)
local last, holder = tonumber(seen[1] or 0), holderIn(seen[2])
local isHolder = holder and holder.token == token

-- The holder was answered something that this registry does not remember.
local isElsewhere = isOfAnother(seenIncarnation, seenServer)
local forgot = operations - 1 < seenOperations or (isHolder and have > last)
if not isElsewhere and forgot then
  -- The forgotten range was granted by the clock of the store, so no witness against it counts.
  moveOn(storeTime)
  noteLoss()
  observeTime()
  -- A proof must not count again for the same holder, or no process would get on.
  operations = math.max(operations, seenOperations)
end
observeMark(seenIncarnation, seenServer, seenEra, have)
local believed = have < now + SANE_MS and math.max(last, have) or last
if believed > last then redis.call('HSET', key, 'c' .. worker, text(believed)) end
if not holder then return answer('unknown') end
if not isHolder then return answer('fenced', text(holder.floor)) end

if holder.era < leftEra and not isElsewhere then return answer('cloned', 'left') end

-- Only the first contact of an era may break the chain: the registry may have forgotten a link.
local isNewEra = holder.era ~= era
local knowsNonce = holder.nonce == nonce or holder.nonce == nextNonce
  -- This server forgot the last renewal without a sign of it.
  or (keepsAfter > 0 and holder.nonce ~= '' and holder.nonce == nonceBefore)
if not knowsNonce and not (isNewEra and have >= last) then
  holder.nonce = '' -- no copy knows it, so the other one is refused at its next renewal too
  store(worker, believed, holder)
  return answer('cloned', '')
end
local spanMin, spanMax = spanIn(fingerprint)
if spanMin and (worker < spanMin or worker > spanMax) then
  -- It is for another layout now: the range lasts, and nothing begins before its end.
  layoutFloor = math.max(layoutFloor, believed)
  forget(worker, holder)
  return answer('unknown')
end
holder.nonce = nextNonce

local ceiling, missed = now + ttl, missedMove(holder)
holder.moves = moveCount(fingerprint)
if not isNewEra and not missed then
  local stored = math.max(last, have)
  return grantKept(worker, holder, math.max(stored, ceiling), stored, minRange, 'hold')
end

-- A range never runs across an era, nor across a move that was missed: the holder ends the old
-- one, then enters this one.
local floor = math.max(last, have, safeFloor, layoutFloor)
local wait = floor + minRange - ceiling
if wait > 0 then return answer('hold', wait) end
holder.floor, holder.era = floor, era
return grantKept(worker, holder, ceiling, nil, minRange, 'hold')
