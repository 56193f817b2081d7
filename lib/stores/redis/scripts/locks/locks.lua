-- Lists the locks or their notes page by page, without changing anything.
-- KEYS[1]  the locks
-- ARGV     1 the cursor of the page, '0' for the first, 2 'l:' for the locks, 'n:' for the notes
-- Answer   time in ms, cursor of the next page or '0', lastTime, slew, and for each
--          lock: name, its line
local key, cursor, kind = KEYS[1], ARGV[1], ARGV[2]
local page = redis.call('HSCAN', key, cursor, 'COUNT', 512)
local seen = { time, page[1] }
local head = redis.call('HMGET', key, 'lastTime', 'slew')
for at = 1, 2 do seen[#seen + 1] = head[at] or '' end
for at = 1, #page[2], 2 do
  local name = page[2][at]
  if string.sub(name, 1, 2) == kind then
    seen[#seen + 1] = string.sub(name, 3)
    seen[#seen + 1] = page[2][at + 1]
  end
end
return seen
