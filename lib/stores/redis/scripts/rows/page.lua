-- Reads a page of rows, without those of worker IDs that were never leased. Read-only.
-- KEYS[1]  the hash
-- ARGV     1 the cursor of the page, '0' for the first
-- Answer   time in ms, protocol version, cursor of the next page or '0', the header or '', then
--          key, line, key, line ...
local key, cursor = KEYS[1], ARGV[1]
local page = redis.call('HSCAN', key, cursor, 'COUNT', 2048)
local facts = redis.call('HMGET', key, 'version', 'r:|')
local found = { time, facts[1] or '', page[1], facts[2] or '' }
for at = 1, #page[2], 2 do
  local name, line = page[2][at], page[2][at + 1]
  local isBlank = string.find(line, '|0|\n{}', 1, true)
  if string.sub(name, 1, 2) == 'r:' and name ~= 'r:|' and not isBlank then
    found[#found + 1] = string.sub(name, 3)
    found[#found + 1] = line
  end
end
return found
