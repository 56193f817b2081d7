-- How far the store had come that was lost, by the highest token that somebody was answered.
-- It says what the lock room says in lock-rules.ts.
local SANE_MS, AHEAD_STEP = 86400000, 1000

-- In whole steps, so that a fleet of survivors moves it once; never by a day, which is a fault.
local function moveTo(highest, age)
  local ahead = timeAt(highest, TOKENS_PER_MS) + age - now
  if ahead <= 0 or ahead >= SANE_MS then return false end
  local step = math.ceil(ahead / AHEAD_STEP) * AHEAD_STEP
  slew, now = slew + step, now + step
  return true
end

-- A token of a time that is far from having come was granted by a store that this one has
-- forgotten.
local function observeHighest(highest, age)
  if timeAt(highest, TOKENS_PER_MS) > now + HEADER_AGE and moveTo(highest, age) then lose() end
end
