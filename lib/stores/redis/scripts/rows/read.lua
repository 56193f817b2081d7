-- Reads rows by key, and the row of a token, in one step.
-- ARGV     1 the token, or '', 2 how many keys, 3.. the keys
-- Answer   time in ms, server, '' or 'left' or 'lost', then key, line, key, line ...
-- A row is stored in the field r:<key> as version|number|token, a line break and the text.
local token, count = ARGV[1], ARGV[2]

-- A client from a later failover marks the hash until a header that includes the mark is written.
-- The mark counts as a write of the header, so no process writes with an older one.
if isLater then
  redis.call('HSET', key, 'epoch', text(epoch), 'left', isLeft and 'left' or 'lost')
  local header = redis.call('HGET', key, 'r:|')
  local headerVersion, rest = string.match(header or '', '^(%d+)(|.*)$')
  if headerVersion then redis.call('HSET', key, 'r:|', text(headerVersion + 1) .. rest) end
end

local names = { 'left' }
for at = 3, 2 + count do names[#names + 1] = 'r:' .. ARGV[at] end
local named = token ~= '' and redis.call('HGET', key, 't:' .. token)
if named then names[#names + 1] = 'r:' .. named end
local lines = redis.call('HMGET', key, unpack(names))
local found = { text(time), server, lines[1] or '' }
for at = 2, #names do
  if lines[at] then
    found[#found + 1] = string.sub(names[at], 3)
    found[#found + 1] = lines[at]
  end
end
return found
