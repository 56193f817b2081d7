-- Whether a lock may be had, without changing anything: for who has come to wait for it.
-- KEYS[1]  the locks
-- ARGV     1 lock
-- Answer   'free' | 'held'
local line = redis.call('HGET', KEYS[1], 'l:' .. ARGV[1])
local till, holder = string.match(line or '', '^%d+|%d+|%d+|(%d+)|([^|]*)|')
local seconds = redis.call('TIME')[1] -- a lock is kept for a while after its holder has ended
local isHeld = holder and (holder ~= '' or tonumber(till) > seconds * 1000)
return { isHeld and 'held' or 'free' }
