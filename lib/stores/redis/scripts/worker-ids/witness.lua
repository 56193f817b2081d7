-- The time of a registry, between its opening and its clock: that of the store, or, where it has
-- stepped forward and whoever asks knows better, what the witness knows.
-- It says what the rows room says in store-clock.ts.
-- ARGV     2 ttl ms, 5 wall clock of whoever asks, or ''; what it reckons the clocks of a registry
--          show now: 6 incarnation and 7 server of that, 8 its clock, 9 that of its store, or ''
local wall, reckonedBy, reckonedServer = tonumber(ARGV[5]), ARGV[6], ARGV[7]
local reckonedNow, reckonedTime = tonumber(ARGV[8]), tonumber(ARGV[9])
local storeTime, longest = time, tonumber(ARGV[2])
local STEP_MS = 5000
local last = tonumber(lastTime)
local isReckonedHere = reckonedBy == incarnation and reckonedServer == server

if last and not isOther and wall and time - math.max(last, wall) > STEP_MS then
  -- Within a lease the registry may have been idle, and the clock of whoever asks be slow.
  local isFar = time - last > longest + STEP_MS
  local fits = isFar and wall >= last - STEP_MS and wall <= last + longest
  local known = (isReckonedHere and reckonedTime) or (fits and wall) or time
  if time - known > STEP_MS then time = math.max(last, known) end
end
