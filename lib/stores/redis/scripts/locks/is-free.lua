-- Reports to a waiting caller whether a lock is free, without changing anything.
-- KEYS[1]  the locks
-- ARGV     1 lock
-- Answer   'free' | 'held'
local key, lock = KEYS[1], ARGV[1]
local line, slew = unpack(redis.call('HMGET', key, 'l:' .. lock, 'slew'))
local till, holder = string.match(line or '', '^%d+|%d+|%d+|(%d+)|([^|]*)|')
-- A lock may stay reserved for a while after its release.
local isKept = till and tonumber(till) > time + math.min(0, tonumber(slew or 0))
return { holder and (holder ~= '' or isKept) and 'held' or 'free' }
