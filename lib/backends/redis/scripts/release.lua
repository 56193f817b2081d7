-- Gives a worker id back: the ceiling falls to the first time not used, never below the floor.
-- ARGV     5 token, 6 nonce, 7 next nonce, 8 worker id, 9 last issued time + 1, or 0
-- Answer   'released' | 'unknown' for anybody but the holder | another layout or version
-- Whoever leaves makes no more ids, so that it claims and contests nothing.
local refused = refusal(0)
if refused then return refused end
local worker = tonumber(ARGV[8])
local owner = readOwner(worker)
local isHolder = owner and owner.token == ARGV[5]
  and (owner.nonce == ARGV[6] or owner.nonce == ARGV[7])
if not isHolder then return answer('unknown') end

local last = tonumber(redis.call('HGET', key, 'c' .. worker))
local used = math.max(tonumber(ARGV[9]), owner.floor)
redis.call('HSET', key, 'c' .. worker, text(math.min(last, used)))
forget(worker, owner)
return answer('released')
