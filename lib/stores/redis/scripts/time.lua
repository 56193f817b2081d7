-- Reads the time of the server in ms. Every script that uses a time begins with it, so that all
-- scripts use the same unit.
local seconds, us = unpack(redis.call('TIME'))
local time = seconds * 1000 + math.floor(us / 1000)
