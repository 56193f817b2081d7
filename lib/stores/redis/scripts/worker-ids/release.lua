-- Gives a worker id back: the ceiling falls to the first time not used, never below the floor.
-- ARGV     10 token, 11 nonce, 12 next nonce, 13 worker id, 14 last issued time + 1, or 0,
--          15 1 if an operator brings the clock back to that of the store, else 0; 16 the layouts
--          that an operator lets in, or '', 17 the time by which, 18 no range begins below it, or 0
-- Answer   'released' | 'unknown' for all but the holder | another layout or version
local token, nonce, nextNonce = ARGV[10], ARGV[11], ARGV[12]
local worker, used, settles = tonumber(ARGV[13]), tonumber(ARGV[14]), ARGV[15] == '1'
local move, byTime, moveFloor = ARGV[16], tonumber(ARGV[17]), tonumber(ARGV[18])

-- A process that leaves makes no more ids, so it claims and contests nothing.
local refused = refusal(0)
if refused then return refused end
-- No ceiling and no floor changes: a range granted at the wrong time stays granted. Its end is
-- kept, since the clock no longer shows it.
if settles then
  latest = math.max(latest, now + quarantine)
  time, now, slew = storeTime, storeTime, 0
end
if not settles and move ~= '' and now <= byTime and fingerprint == layout then
  moveTo(move, moveFloor)
end

local holder = readHolder(worker)
local isHolder = holder and holder.token == token
  and (holder.nonce == nonce or holder.nonce == nextNonce)
if not isHolder then return answer('unknown') end

local last = tonumber(redis.call('HGET', key, 'c' .. worker))
redis.call('HSET', key, 'c' .. worker, text(math.min(last, math.max(used, holder.floor))))
forget(worker, holder)
return answer('released')
