-- Moves the clock on to the time of a lost store, by what a caller has seen of it.
-- It says the same as lock-rules.ts in the room of locks.
local SANE_MS, AHEAD_STEP = 86400000, 1000

-- The clock moves in whole steps, so that a fleet of survivors moves it once; never by a day.
local function moveTo(highest)
  local ahead = math.max(timeAt(highest, TOKENS_PER_MS), reckoned or 0) - now
  if ahead <= 0 or ahead >= SANE_MS then return false end
  local step = math.ceil(ahead / AHEAD_STEP) * AHEAD_STEP
  slew, now = slew + step, now + step
  return true
end

-- A token of a time far in the future was granted by a store that this one has forgotten. Tokens go
-- on above those of a clock that was brought back.
local function observeHighest(highest)
  local latest = math.max(now, timeAt(forgotten, TOKENS_PER_MS)) + HEADER_AGE
  if timeAt(highest, TOKENS_PER_MS) > latest and moveTo(highest) then lose() end
end
