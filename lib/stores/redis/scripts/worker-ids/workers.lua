-- Reads the registry without changing anything: all of it at one moment, or page by page if that
-- would keep Redis from others for too long.
-- KEYS[1]  the registry
-- ARGV     1 the cursor of the page, '0' for the first
-- Answer   time in ms, cursor of the next page or '0', lastTime, slew, then field, value, field,
--          value ...: a ceiling with its holder, and without the fields of tokens
local key, cursor = KEYS[1], ARGV[1]
local PAGE, CHUNK = 2048, 4096 -- fields; unpack() takes some 8,000 values at most
local page = redis.call('HSCAN', key, cursor, 'COUNT', PAGE)
local seen = { time, page[1] }
local head = redis.call('HMGET', key, 'lastTime', 'slew')
for at = 1, 2 do seen[#seen + 1] = head[at] or '' end

local held = {}
for at = 1, #page[2], 2 do
  local name = page[2][at]
  local kind = string.match(name, '^([ck])') or string.match(name, '^(o)%d')
  if kind == 'c' then held[#held + 1] = 'o' .. string.sub(name, 2) end
  if kind ~= 'k' and kind ~= 'o' then
    seen[#seen + 1] = name
    seen[#seen + 1] = page[2][at + 1]
  end
end
for first = 1, #held, CHUNK do
  local last = math.min(first + CHUNK - 1, #held)
  for at, holder in ipairs(redis.call('HMGET', key, unpack(held, first, last))) do
    if holder then
      seen[#seen + 1] = held[first + at - 1]
      seen[#seen + 1] = holder
    end
  end
end
return seen
