-- Grants positions of a counter: the next positions, or those that the clock has reached.
-- Implements the same rules as lib/counters/counter-rules.ts.
-- ARGV     4 form, 5 requested positions, 6 the caller's highest received end, 7 loss gap in
--          positions or ms ahead, 8 start of a dense counter or '', 9 positions per ms, 0 if dense,
--          10 the caller's highest received era, or 0, 11 the caller's estimated time, or 0
-- Answer   'ok', first, end, grant, era, clock | 'wait', ms, clock | 'absent' | 'full' |
--          'mismatch', stored form | another version
local form, wanted, have, margin, startAt = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local perMs, seenEra, reckoned = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local isClock, durableTo = perMs > 0, now
if doubt and not isClock then return doubt end

local row = readCounter()
if not row and isClock then row = blank(form, '0', 0) end -- it begins as after a loss
if not row and startAt == '' then return { 'absent' } end
row = row or blank(form, startAt, era)
if row.form ~= form then return { 'mismatch', row.form } end
-- The client has received a response that this store has lost.
if lastTime and seenEra > era then
  era = seenEra + 1 -- by another server, which took over from this one
elseif isLess(row.next, have) then
  era = era + 1
end

-- A larger margin is recorded before use, or a loss of both would jump by the smaller margin. After
-- a jump, nothing is granted until it can no longer be lost. Neither is stored during an fsync.
-- During an fsync or a rewrite, only data from before the last window is safe.
local isBehind, isRaised = row.era ~= era, isLess(row.margin, margin)
if isSyncing and (isBehind or isRaised) then return { 'wait', text(SYNC_MS), text(now) } end
if isSyncing or atRiskMs > 0 then durableTo = row.window end
if isBehind or isRaised then
  row.margin, row.ready = greatest(row.margin, margin), now + lossWindow
end
if isBehind then
  local lossCount = era - row.era
  row.era, row.grant, row.next = era, '', greatest(row.next, have)
  if not isClock then
    row.next = sum(row.next, row.margin)
    -- Another server may have jumped after one of several losses.
    if lossCount > 1 then row.next = sum(row.next, row.margin) end
  end
end
-- Until the first grant after a loss, a caller may prove that the clock was also set back.
if isClock and row.grant == '' then
  local clear = row.ready + tonumber(row.margin) + math.max(0, reckoned - now)
  row.next = greatest(row.next, positionAt(clear, perMs))
end

local function waiting(ms)
  keep(row)
  return { 'wait', text(ms), text(now) }
end
local function waitingUntil(moment)
  return waiting(math.max(moment - now + atRiskMs, isSyncing and SYNC_MS or 0))
end
local ceiling = POSITION_MAX
if isClock then ceiling = positionAt(now + tonumber(margin), perMs) end -- never floor + ahead
if isLess(POSITION_MAX, ceiling) or not isLess(row.next, POSITION_MAX) then return { 'full' } end
if row.ready > durableTo then return waitingUntil(row.ready) end

local first, count = row.next, wanted
if isClock then
  if isSyncing == false then row.window = durableTo end
  first = greatest(first, positionAt(now, perMs))
  local early = timeAt(first, perMs) + 1 - now - tonumber(margin)
  if not isLess(first, ceiling) then return waiting(early) end
else
  if durableTo >= row.window + lossWindow then row.window, row.count = now, '0' end
  -- Each window grants half of the loss gap, because a loss spans at most two windows.
  local budget = lossWindow > 0 and half(row.margin) or POSITION_MAX
  if not isLess(row.count, budget) then return waitingUntil(row.window + lossWindow) end
  count = least(count, difference(budget, row.count))
end
if isLess(ceiling, sum(first, count)) then count = difference(ceiling, first) end
if not isClock then row.count = sum(row.count, count) end
row.next, row.grant = sum(first, count), first .. '.' .. random
keep(row)
return { 'ok', first, row.next, row.grant, era, now }
