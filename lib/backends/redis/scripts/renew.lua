-- Raises the ceiling of a lease, only for the holder of its token and nonce.
-- ARGV     6 token, 7 nonce, 8 next nonce, 9 worker id, 10 highest ceiling the holder was answered,
--          11 incarnation, 12 server and 13 operations it was answered, 14 shortest range ms
-- Answer   'ok' as above | 'hold', wait | 'fenced' | 'unknown' | 'cloned'
local SANE_MS = 86400000 -- a wilder claim is a fault of the holder's clock

local worker, have = tonumber(ARGV[9]), tonumber(ARGV[10])
local last = tonumber(redis.call('HGET', key, 'c' .. worker) or 0)
local owner = readOwner(worker)
local isHolder = owner and owner.token == ARGV[6]

-- The holder was answered something that this registry does not remember.
local isSameServer = ARGV[11] == incarnation and ARGV[12] == server
local forgot = operations - 1 < tonumber(ARGV[13]) or (isHolder and have > last)
if isSameServer and forgot then
  noteLoss()
  -- What was proved once must not be proved again by the same holder, or nobody gets on.
  operations = math.max(operations, tonumber(ARGV[13]))
end
local believed = have < now + SANE_MS and math.max(last, have) or last
if believed > last then redis.call('HSET', key, 'c' .. worker, text(believed)) end
if not isHolder then return answer(owner and 'fenced' or 'unknown') end

-- Only the first contact of an era may break the chain: the registry may have forgotten a link.
local isNewEra = owner.era ~= era
local knowsNonce = owner.nonce == ARGV[7] or owner.nonce == ARGV[8]
if not knowsNonce and not (isNewEra and have >= last) then
  owner.nonce = '' -- no copy knows it, so that the other one is told at its next renewal too
  store(worker, believed, owner)
  return answer('cloned')
end
owner.nonce = ARGV[8]

local ceiling = now + ttl
if not isNewEra then
  ceiling = math.max(last, have, ceiling)
  store(worker, ceiling, owner)
  return grant(worker, owner.floor, ceiling)
end

-- A range never runs across an era: the holder ends the old one, then enters this one.
local floor = math.max(last, have, safeFloor)
local wait = floor + tonumber(ARGV[14]) - ceiling
if wait > 0 then return answer('hold', wait) end
owner.floor, owner.era = floor, era
store(worker, ceiling, owner)
return grant(worker, floor, ceiling)
