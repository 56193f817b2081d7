-- Chooses the time of a registry, between prologue and clock: that of the store or, if the
-- store has stepped forward and the caller knows better, that of this witness.
-- It says the same as store-clock.ts in the room of rows.
-- ARGV     2 ttl ms, 5 wall clock of the caller, or ''; the reckoned clocks of a registry: 6 its
--          incarnation and 7 server, 8 its clock, 9 that of its store, or ''
local wall, reckonedBy, reckonedServer = tonumber(ARGV[5]), ARGV[6], ARGV[7]
local reckonedNow, reckonedTime = tonumber(ARGV[8]), tonumber(ARGV[9])
local storeTime, longest = time, tonumber(ARGV[2])
local STEP_MS = 5000
local last = tonumber(lastTime)
local isReckonedHere = reckonedBy == incarnation and reckonedServer == server

if last and not isOther and wall and time - math.max(last, wall) > STEP_MS then
  -- Within a lease the registry may have been idle, and the clock of the caller be slow.
  local isFar = time - last > longest + STEP_MS
  -- The stored time may be old: holders ask seldom.
  local used = last + math.max(longest, tonumber(redis.call('HGET', key, 'quarantine')))
  local fits = isFar and wall >= last - STEP_MS and wall <= used
  -- The caller has no time of the store but the registry's clock while that does not follow it.
  local reckoned = isReckonedHere and reckonedTime
    and math.min(reckonedTime, reckonedNow - tonumber(slew))
  local known = reckoned or (fits and wall) or time
  if time - known > STEP_MS then time = math.max(last, known) end
end
