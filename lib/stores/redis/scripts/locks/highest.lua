-- Advances the clock to the time of a lost store, from a caller's highest token of that store.
-- Implements the same rules as lib/lock/lock-rules.ts.
local SANE_MS, AHEAD_STEP = 86400000, 1000

-- The clock moves in whole steps, so a fleet of surviving processes moves it only once; never by a
-- day.
local function moveTo(highest)
  local ahead = math.max(timeAt(highest, TOKENS_PER_MS), reckoned or 0) - now
  if ahead <= 0 or ahead >= SANE_MS then return false end
  local step = math.ceil(ahead / AHEAD_STEP) * AHEAD_STEP
  slew, now = slew + step, now + step
  return true
end

-- A token of a time far in the future comes from a lost store. Tokens stay above those from before
-- a clock reset.
local function observeHighest(highest)
  local latest = math.max(now, timeAt(forgotten, TOKENS_PER_MS)) + HEADER_AGE
  if timeAt(highest, TOKENS_PER_MS) > latest and moveTo(highest) then lose() end
end
