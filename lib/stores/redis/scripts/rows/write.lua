-- Writes a header and rows, all or none, and only if none of their dependencies has changed.
-- ARGV     1 the server that was read, 2 the version of the header, or '', and 3 its number, 4
--          'none', 'time' or 'whole', 5 the header's next number or line, 6 how many rows, 7.. of
--          each: key, version or '', line
-- Answer   1 if they were written, else 0
local readServer, readVersion, readNumber = ARGV[1], ARGV[2], ARGV[3]
local mode, next, count = ARGV[4], ARGV[5], ARGV[6]
local function partsOf(name)
  local line = redis.call('HGET', key, name)
  if not line then return '', '0', '' end
  return string.match(line, '^(%d+)|(%d+)|([^\n]*)\n')
end

local version, number = partsOf('r:|')
local last = 4 + 3 * count
if isLater or server ~= readServer or version ~= readVersion then return { 0 } end
if mode == 'whole' and number ~= readNumber then return { 0 } end
for at = 7, last, 3 do
  if partsOf('r:' .. ARGV[at]) ~= ARGV[at + 1] then return { 0 } end
end

if not lastTime then redis.call('HSET', key, 'version', VERSION, 'lastTime', text(time)) end
if server ~= lastServer or text(epoch) ~= (lastEpoch or '0') then
  redis.call('HSET', key, 'server', server, 'epoch', text(epoch))
end
if mode == 'whole' then
  redis.call('HSET', key, 'r:|', next)
  redis.call('HDEL', key, 'left')
elseif mode == 'time' and tonumber(number) < tonumber(next) then
  local line = redis.call('HGET', key, 'r:|')
  local rest = string.sub(line, #version + #number + 2)
  redis.call('HSET', key, 'r:|', version .. '|' .. next .. rest)
end
for at = 7, last, 3 do
  local name, line = ARGV[at], ARGV[at + 2]
  local _, _, before = partsOf('r:' .. name)
  local after = string.match(line, '^%d+|%d+|([^\n]*)\n')
  local isGone = before ~= '' and before ~= after
  if isGone and redis.call('HGET', key, 't:' .. before) == name then
    redis.call('HDEL', key, 't:' .. before)
  end
  if after ~= '' then redis.call('HSET', key, 't:' .. after, name) end
  redis.call('HSET', key, 'r:' .. name, line)
end
return { 1 }
