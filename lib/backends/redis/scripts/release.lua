-- Gives a worker id back: the ceiling falls to the first time not used, never below the floor.
-- ARGV     6 token, 7 nonce, 8 next nonce, 9 worker id, 10 last issued time + 1, or 0
-- Answer   'released' | 'unknown' for anybody but the holder
local worker = tonumber(ARGV[9])
local owner = readOwner(worker)
local isHolder = owner and owner.token == ARGV[6]
  and (owner.nonce == ARGV[7] or owner.nonce == ARGV[8])
if not isHolder then return answer('unknown') end

local last = tonumber(redis.call('HGET', key, 'c' .. worker))
local used = math.max(tonumber(ARGV[10]), owner.floor)
redis.call('HSET', key, 'c' .. worker, text(math.min(last, used)))
forget(worker, owner)
return answer('released')
