-- Every script on a registry begins with this, after its clock: it checks loss and layout.
-- It says the same as prologue.ts in the room of the registry.
-- ARGV     1 fingerprint and, on a line each, the layouts of a move and the latest end that the
--          caller got from a registry, 2 ttl ms, 3 with spaces between them: loss window ms, or a
--          longer one that the caller brings; how old a write is that no server forgets, 0 if a
--          loss of younger ones shows; loss window ms of this store, 4 random text, 5 to 9 as
--          witness.lua says, 10.. as the script says
-- Answer   a status, three values, and the facts of the registry: its clock, incarnation, server,
--          operations, quarantine, the store's time, era, the layouts of a move, lineage and latest
--          end, '' if there is none; or 'layout-mismatch' or 'other-version' and what is stored
if not lastTime then
  fingerprint, incarnation, operations, layoutFloor, lineage, latest = '', random, 0, 0, '', 0
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
observeLatest(tonumber(toldLatest))
operations = operations + 1

local function withFacts(status, first, second, third)
  local isMove = string.find(fingerprint, '^#%d+ ')
  return { status, first or '', second or '', third or '', now, incarnation, server, operations,
    quarantine, storeTime, era, isMove and fingerprint or '', lineage, latest }
end

local function answer(...)
  if not lastTime or fingerprint ~= lastFingerprint then
    redis.call('HSET', key, 'version', VERSION, 'fingerprint', fingerprint,
      'incarnation', incarnation)
  end
  redis.call('HSET', key, 'quarantine', text(quarantine), 'safeFloor', text(safeFloor),
    'operations', text(operations))
  if leftEra > 0 then redis.call('HSET', key, 'leftEra', text(leftEra)) end
  if layoutFloor > 0 then redis.call('HSET', key, 'layoutFloor', text(layoutFloor)) end
  if lineage ~= lastLineage then redis.call('HSET', key, 'lineage', lineage) end
  if latest > 0 then redis.call('HSET', key, 'latest', text(latest)) end
  if ahead > 0 then
    redis.call('HSET', key, 'toldAhead', text(ahead))
  elseif lastAhead then
    redis.call('HDEL', key, 'toldAhead')
  end
  keepMoment()
  return withFacts(...)
end

local function isLive(have) return now < have and have < now + SANE_MS end
