-- How the server that has the key keeps what it acknowledged.
-- KEYS[1]  the counters, so that a Cluster asks the right node
-- ARGV     none
-- Answer   the section persistence of INFO
return { redis.call('INFO', 'persistence') }
