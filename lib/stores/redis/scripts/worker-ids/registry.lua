-- What every script on a registry begins with, after its clock: loss of data, layout.
-- It says what the registry room says in prologue.ts.
-- ARGV     1 fingerprint, 2 ttl ms, 3 loss window ms, 4 random text, 5 to 9 as witness.lua says,
--          10.. as the script says
-- Answer   a status and its values; or 'layout-mismatch' or 'other-version' and what is stored
local layout, ttl, lossWindow, random = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local SANE_MS = 86400000 -- a ceiling further ahead is a fault of the holder's clock

local lastFingerprint, lastQuarantine, safeFloor, operations, leftEra = unpack(redis.call('HMGET',
  key, 'fingerprint', 'quarantine', 'safeFloor', 'operations', 'leftEra'))
leftEra = tonumber(leftEra or 0)
local fingerprint, quarantine = lastFingerprint, ttl + lossWindow
-- Nothing granted from here on starts before all that may be gone would end.
local function noteLoss()
  era = era + 1
  safeFloor = math.max(safeFloor, now + quarantine)
end
-- The registry before the last loss may have been ahead of this one: whoever was told its time
-- brings it, and what was forgotten then ends as much later.
local function observeTime()
  if not reckonedNow then return end
  local behind = math.ceil(reckonedNow - now)
  -- This clock has passed all that was forgotten, however far the old one was.
  if behind <= 0 or behind >= SANE_MS or safeFloor + behind <= now then return end
  slew, now, safeFloor = slew + behind, now + behind, safeFloor + behind
  era = era + 1
end

if not lastTime then
  fingerprint, incarnation, operations = '', random, 0
  safeFloor = now + quarantine
  observeTime()
else
  safeFloor, lastQuarantine, operations = tonumber(safeFloor), tonumber(lastQuarantine),
    tonumber(operations)
  -- What the last loss forgot may end later than was known then: its floor moves as far.
  if quarantine > lastQuarantine then
    safeFloor = safeFloor + quarantine - lastQuarantine
    if safeFloor > now then era = era + 1 end
  else
    quarantine = lastQuarantine
  end
  if isOther then noteLoss() end
  if isOther or not isReckonedHere then observeTime() end
  if isLeft then leftEra = era end
end
operations = operations + 1

local function answer(...)
  if not lastTime or fingerprint ~= lastFingerprint then
    redis.call('HSET', key, 'version', VERSION, 'fingerprint', fingerprint,
      'incarnation', incarnation)
  end
  redis.call('HSET', key, 'quarantine', text(quarantine), 'safeFloor', text(safeFloor),
    'operations', text(operations))
  if leftEra > 0 then redis.call('HSET', key, 'leftEra', text(leftEra)) end
  keepMoment()
  return { ... }
end

local function isLive(have) return now < have and have < now + SANE_MS end
-- The answer to another layout than the registry's. Where both have ranges that still last, none
-- is the right one: no layout has the fingerprint written then, so that both sides stop.
local function refusal(have)
  if fingerprint == '' or fingerprint == layout then return nil end
  if string.find(fingerprint, ' and ', 1, true) or not isLive(have) then
    return { 'layout-mismatch', fingerprint }
  end
  fingerprint = fingerprint .. ' and ' .. layout
  return answer('layout-mismatch', fingerprint)
end
