-- Whether a lock is free, without changing anything: for those who have come to wait for it.
-- KEYS[1]  the locks
-- ARGV     1 lock
-- Answer   'free' | 'held'
local line = redis.call('HGET', KEYS[1], 'l:' .. ARGV[1])
local till, holder = string.match(line or '', '^%d+|%d+|%d+|(%d+)|([^|]*)|')
local seconds, us = unpack(redis.call('TIME'))
-- A lock is kept for a while after its holder has ended.
local isKept = till and tonumber(till) > seconds * 1000 + math.floor(us / 1000)
return { holder and (holder ~= '' or isKept) and 'held' or 'free' }
