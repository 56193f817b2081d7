-- A server that was left for another one and is asked again: what the other one granted meanwhile
-- is known to those who were answered there. It says what the registry room says in prologue.ts.
-- Promise  where seen was granted by this server, or can be forgotten, nothing changes
local function isOfAnother(seenIncarnation, seenServer)
  return seenIncarnation ~= incarnation or seenServer ~= server
end

-- What servers before this one granted ends below the safe floor.
local function observeMark(seenIncarnation, seenServer, seenEra, have)
  if not isOfAnother(seenIncarnation, seenServer) then return end
  if have <= safeFloor or have >= now + SANE_MS then return end
  era = math.max(era, seenEra)
  noteLoss()
  -- A floor ahead of a clock that stays behind would stop everybody until that is there.
  observeTime()
  safeFloor = math.max(safeFloor, have)
  -- It had been left then, whatever eras say: they are counted from different beginnings.
  leftEra = era
end
