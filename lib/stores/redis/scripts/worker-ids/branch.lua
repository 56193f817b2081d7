-- Serves a registry that was left for another server and is asked again: the holders know what the
-- other one granted meanwhile. It says the same as prologue.ts in the room of the registry.
-- Guarantee: if this server granted the seen range, or if it can be forgotten, nothing changes
local function isOfAnother(seenIncarnation, seenServer)
  return seenIncarnation ~= incarnation or seenServer ~= server
end

-- Ranges that servers before this one granted end below the safe floor.
local function observeMark(seenIncarnation, seenServer, seenEra, have)
  if not isOfAnother(seenIncarnation, seenServer) then return end
  if have <= safeFloor or have >= now + SANE_MS then return end
  era = math.max(era, seenEra)
  noteLoss()
  -- If the clock stays behind, a floor ahead of it would stop all until the clock gets there.
  observeTime()
  safeFloor = math.max(safeFloor, have)
  -- This server had been left then, whatever the eras: they are counted from different beginnings.
  leftEra = era
end
