-- Everything there is to see, without changing anything.
-- KEYS[1]  the registry
-- Answer   time in ms, then field, value, field, value ...
local time = redis.call('TIME')
local seen = redis.call('HGETALL', KEYS[1])
table.insert(seen, 1, tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
return seen
