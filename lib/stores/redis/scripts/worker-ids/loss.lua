-- Reads the registry, and has what follows from a loss of its data and from what the caller brings
-- of the registry before. It comes after the clock, and is the same as prologue.ts in the room of
-- the registry.
-- ARGV     as registry.lua says
local layout, told, toldLatest = string.match(ARGV[1], '^([^\n]*)\n?([^\n]*)\n?(%d*)$')
local ttl, random = tonumber(ARGV[2]), ARGV[4]
local lossWindow, keepsAfter, failover = string.match(ARGV[3], '^(%d+) ?(%d*) ?(%d*)$')
keepsAfter, failover = tonumber(keepsAfter) or 0, tonumber(failover) or 0
local SANE_MS = 86400000 -- a ceiling further ahead is a fault of the holder's clock

local lastFingerprint, lastQuarantine, safeFloor, operations, leftEra, layoutFloor, lastAhead,
  lineage, latest = unpack(redis.call('HMGET', key, 'fingerprint', 'quarantine', 'safeFloor',
    'operations', 'leftEra', 'layoutFloor', 'toldAhead', 'lineage', 'latest'))
leftEra, layoutFloor = tonumber(leftEra or 0), tonumber(layoutFloor or 0)
lineage, latest = lineage or '', tonumber(latest or 0)
local lastLineage = lineage
-- How far the old registry was ahead, as far as the floor has moved for it and the clock has not.
local ahead = tonumber(lastAhead or 0)
local fingerprint, quarantine = lastFingerprint, ttl + lossWindow
-- Later ranges start only where all that may have been forgotten has ended.
local function noteLoss()
  era, lineage = era + 1, string.sub(random, -8)
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
  -- The time may be that of a later server: nothing is granted by it within the failover window.
  if failover > 0 then safeFloor = math.max(safeFloor, now + quarantine) end
end
-- It granted up to a time that its clock no longer showed, since an operator had set that back.
local function observeLatest(ended)
  if not ended or ended <= math.max(safeFloor, latest) or ended >= now + SANE_MS then return end
  safeFloor = ended
  if ended <= now then return end
  local behind = math.max(0, ended - quarantine - now)
  slew, now, ahead, era = slew + behind, now + behind, 0, era + 1
end
