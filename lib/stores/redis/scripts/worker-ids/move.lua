-- Says which layouts a registry admits: one, none that is contested, or those of a move, as in
-- '#1 t41-w10-s12/1ms@0[0-511] t41-w12-s10/1ms@0[2048-4095<1900000000000]'. Other words after the
-- number begin with # as well and are for operators. It follows the registry and says the same as
-- layout-move.ts and prologue.ts in the room of the registry.
local function moveCount(list) return tonumber(string.match(list, '^#(%d+) ') or 0) end
local function isListed(list, name)
  return list == name or string.find(list, ' ' .. name .. '[', 1, true) ~= nil
end
local function isContested(list) return string.find(list, ' and ', 1, true) ~= nil end

-- A registry that a move leads to is closed at first, and opens under the same number.
local function isClosed(list)
  return string.find(list, '^#%d+ #') ~= nil and not string.find(list, '%[%d')
end
local function isOpening(stored)
  local head = isClosed(stored) and string.match(stored, '^#%d+ #in:.*%[')
  return head and string.sub(told, 1, #head) == head
end

-- What a process was told counts where the registry has forgotten it.
local function latestOf(stored)
  local isLater = moveCount(told) > moveCount(stored) or isOpening(stored)
  if not isLater or isClosed(told) then return stored end
  for entry in string.gmatch(stored, '%S+') do
    local name = string.match(entry, '^(.-)%[') or entry
    local isName = name ~= 'and' and not string.find(name, '^#')
    if isName and not isListed(told, name) then return stored end
  end
  return told
end

-- Returns the lowest and the highest worker id of the caller's layout, or nothing.
local function spanIn(list)
  if list == '' or list == layout then return 0, math.huge end
  if moveCount(list) == 0 or isContested(list) then return nil end
  local _, last = string.find(list, ' ' .. layout .. '[', 1, true)
  if not last then return nil end
  local min, max, stop = string.match(list, '^(%d*)%-?(%d*)<?(%d*)%]', last + 1)
  if not min or min == '' or (stop ~= '' and now + ttl > tonumber(stop)) then return nil end
  return tonumber(min), tonumber(max)
end

-- Whatever was granted until now, here or below a floor that another registry has, ends before what
-- begins from now on. The clock moves on so far that nobody waits longer than for a quarantine.
local function moveTo(list, floor)
  local behind = floor - quarantine - now
  if behind > 0 and behind < SANE_MS then slew, now = slew + behind, now + behind end
  fingerprint, layoutFloor = list, math.max(layoutFloor, now + quarantine, floor)
end

-- Refuses another layout than the registry's. If both have ranges that still last, neither is the
-- right one: the fingerprint written then is that of no layout, so that both sides stop.
local function refusal(have)
  local latest = latestOf(fingerprint)
  local isAdmitted = spanIn(latest) ~= nil
  local isKnown = isContested(latest) or isListed(latest, layout)
  if not isAdmitted and (isKnown or not isLive(have)) then
    -- Nothing is written, so the facts must not replace a clock that the caller brought.
    local isKept = lastTime and (not reckonedNow or isReckonedHere)
    if isKept then return withFacts('layout-mismatch', fingerprint) end
    return { 'layout-mismatch', fingerprint }
  end
  if latest ~= fingerprint then moveTo(latest, 0) end
  if isAdmitted then return nil end
  fingerprint = fingerprint .. ' and ' .. layout
  return answer('layout-mismatch', fingerprint)
end

local function claim()
  if fingerprint == '' then fingerprint = layout end
end
