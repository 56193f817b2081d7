-- Lists the counters page by page, without changing anything.
-- KEYS[1]  the counters
-- ARGV     1 the cursor of the page, '0' for the first
-- Answer   time in ms, cursor of the next page or '0', lastTime, slew, era, then and for each
--          counter: name, next position, the rest of its line
local key, cursor = KEYS[1], ARGV[1]
local page = redis.call('HSCAN', key, cursor, 'COUNT', 512)
local seen = { time, page[1] }
local head = redis.call('HMGET', key, 'lastTime', 'slew', 'era')
for at = 1, 3 do seen[#seen + 1] = head[at] or '' end
for at = 1, #page[2], 2 do
  local name = page[2][at]
  if string.sub(name, 1, 2) == 'n:' then
    local rest = redis.call('HGET', key, 'c:' .. string.sub(name, 3))
    for _, value in ipairs({ string.sub(name, 3), page[2][at + 1], rest or '' }) do
      seen[#seen + 1] = value
    end
  end
end
return seen
