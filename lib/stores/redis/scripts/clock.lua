-- Moves the clock of a hash forward to the time; it never goes back. The slew absorbs a step back,
-- then decays by half of the elapsed time. It follows the prologue, and matches store-clock.ts in
-- the room of rows.
local now, before = time, lastTime
local function moveOn(later)
  local elapsed = later - before
  slew = elapsed < 0 and slew - elapsed
    or math.max(math.min(0, slew), slew - math.floor(elapsed / 2))
  time, before, now = later, later, later + slew
end
if lastTime then
  slew, era = tonumber(slew), tonumber(era)
  moveOn(time)
else
  slew, era = 0, 1
end

-- The script's own fields come with it, because each command costs as much as ten fields.
local function keepMoment(...)
  redis.call('HSET', key, 'server', server, 'slew', text(slew), 'era', text(era),
    'lastTime', text(time), ...)
  if text(epoch) ~= (lastEpoch or '0') then redis.call('HSET', key, 'epoch', text(epoch)) end
end
