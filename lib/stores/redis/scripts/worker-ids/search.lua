-- Searches for the worker id to be leased: in a small span the one that has been free for longest,
-- in a wide one another among those drawn. It says the same as acquire.ts in the registry's room.
local WHOLE = 4096 -- so many ceilings can be read at once
local CHUNK = 256 -- unpack() takes some 8,000 values at most

local function ceilingsOf(ids)
  local fields = {}
  for at, id in ipairs(ids) do fields[at] = 'c' .. id end
  return redis.call('HMGET', key, unpack(fields))
end

local function longestFree(min, max)
  local worker, last
  for first = min, max, CHUNK do
    local ids = {}
    for id = first, math.min(first + CHUNK - 1, max) do ids[#ids + 1] = id end
    for at, value in ipairs(ceilingsOf(ids)) do
      local ceiling = tonumber(value or 0)
      if not last or ceiling < last then worker, last = ids[at], ceiling end
      if last == 0 then return worker, last end
    end
  end
  return worker, last
end

-- These are the numbers of Park and Miller, as in acquire.ts.
local state = 1
local function nextState(added) state = (state + added) * 16807 % 2147483647 end
local function draw(ids, min, reach, count)
  for _ = 1, count do
    nextState(0)
    ids[#ids + 1] = min + math.floor(state / 2147483647 * reach)
  end
end

local function drawn(min, max)
  for at = 1, #random do nextState(string.byte(random, at)) end
  for _ = 1, 3 do nextState(0) end -- so many are alike where texts are
  local count, reach, ids = max - min + 1, 64, {}
  while reach < count do
    draw(ids, min, reach, 4)
    reach = reach * 2
  end
  draw(ids, min, count, 4)
  local worker, last, unused
  for _ = 0, 8 do
    for at, value in ipairs(ceilingsOf(ids)) do
      local ceiling = tonumber(value or 0)
      if ceiling == 0 then
        unused = unused or ids[at]
      elseif not last or ceiling < last then
        worker, last = ids[at], ceiling
      end
    end
    -- Unused ones come last: otherwise restarts would fill the span, and the registry with it.
    if last and last <= now then return worker, last end
    if unused then return unused, 0 end
    ids = {}
    draw(ids, min, count, 256)
  end
  return worker, last
end

local function search(min, max)
  if max - min < WHOLE then return longestFree(min, max) end
  return drawn(min, max)
end
