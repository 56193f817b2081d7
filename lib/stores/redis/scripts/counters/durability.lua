-- Returns how the server with the key keeps acknowledged writes.
-- KEYS[1]  the counters, so that a Cluster asks the right node
-- ARGV     none
-- Answer   the section persistence of INFO
return { redis.call('INFO', 'persistence') }
