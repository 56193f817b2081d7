-- Reads the ceilings of a range of worker IDs, both ends included. Read-only.
-- KEYS[1]  the hash
-- ARGV     1 the lowest worker ID, 2 the highest
-- Answer   for each worker ID, the line of its row up to the text, or '' without a row
local key, lowest, highest = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local names = {}
for id = lowest, highest do names[#names + 1] = string.format('r:%d', id) end
local found = redis.call('HMGET', key, unpack(names))
for at = 1, #names do found[at] = string.match(found[at] or '', '^[^\n]*\n?') end
return found
