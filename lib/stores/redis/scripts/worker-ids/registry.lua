-- Every script on a registry begins with this, after its clock: it checks loss and layout.
-- It says the same as prologue.ts in the room of the registry.
-- ARGV     1 fingerprint and, on a second line, the layouts of a move that the caller was told of,
--          2 ttl ms, 3 loss window ms and, after a space, how old a write is that no server
--          forgets, if a loss of younger ones shows in nothing, 4 random text, 5 to 9 as
--          witness.lua says, 10.. as the script says
-- Answer   a status and its values; or 'layout-mismatch' or 'other-version' and what is stored
local layout, told = string.match(ARGV[1], '^([^\n]*)\n?(.*)$')
local ttl, random = tonumber(ARGV[2]), ARGV[4]
local lossWindow, keepsAfter = string.match(ARGV[3], '^(%d+) ?(%d*)$')
keepsAfter = tonumber(keepsAfter) or 0
local SANE_MS = 86400000 -- a ceiling further ahead is a fault of the holder's clock

local lastFingerprint, lastQuarantine, safeFloor, operations, leftEra, layoutFloor, lastAhead =
  unpack(redis.call('HMGET', key, 'fingerprint', 'quarantine', 'safeFloor', 'operations', 'leftEra',
    'layoutFloor', 'toldAhead'))
leftEra, layoutFloor = tonumber(leftEra or 0), tonumber(layoutFloor or 0)
-- How far the old registry was ahead, as far as the floor has moved for it and the clock has not.
local ahead = tonumber(lastAhead or 0)
local fingerprint, quarantine = lastFingerprint, ttl + lossWindow
-- Later ranges start only where all that may have been forgotten has ended.
local function noteLoss()
  era = era + 1
  safeFloor, ahead = math.max(safeFloor, now + quarantine), 0
end
-- The registry before the last loss may have been ahead of this one: a process that was given its
-- time brings it, and the end of all that was forgotten moves as far.
local function observeTime()
  if not reckonedNow then return end
  local behind = math.ceil(reckonedNow - now)
  if behind <= ahead or behind >= SANE_MS then return end
  safeFloor, ahead = safeFloor + behind - ahead, behind
  -- This clock has passed all that was forgotten, however far the old one was.
  if safeFloor <= now then return end
  slew, now, ahead = slew + behind, now + behind, 0
  era = era + 1
end

if not lastTime then
  fingerprint, incarnation, operations, layoutFloor = '', random, 0, 0
  safeFloor = now + quarantine
  observeTime()
else
  safeFloor, lastQuarantine, operations = tonumber(safeFloor), tonumber(lastQuarantine),
    tonumber(operations)
  -- Ranges that the last loss forgot may end later than was known: the floor moves as far.
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
  if layoutFloor > 0 then redis.call('HSET', key, 'layoutFloor', text(layoutFloor)) end
  if ahead > 0 then
    redis.call('HSET', key, 'toldAhead', text(ahead))
  elseif lastAhead then
    redis.call('HDEL', key, 'toldAhead')
  end
  keepMoment()
  return { ... }
end

local function isLive(have) return now < have and have < now + SANE_MS end
