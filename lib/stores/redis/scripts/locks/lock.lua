-- Every script on a lock begins with this, after the clock and the numbers: it reads the header of
-- all locks, and the lock. Implements the same rules as lib/lock/lock-rules.ts.
-- ARGV     1 lock, 2 loss window ms, 3 holder, 4 the caller's wall clock or '', 5 this clock in
--          its last response to the caller, or '', 6.. see each script
local lock, lossWindow, holder = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local wall, reckoned = tonumber(ARGV[4]), tonumber(ARGV[5])
local TOKENS_PER_MS, KEPT, HEADER_AGE, STEP = 4096, 60000, 6000, 5000

local longest, proven = tonumber(read[8] or 0), tonumber(read[9] or 0)
local provenAt, ready = tonumber(read[10] or 0), tonumber(read[11] or 0)
local forgotten = read[12] or '0'

-- The time alone is stored only if it has moved forward by a margin, or back.
local aged = lastTime and time - lastTime or 0
local isNews = not lastTime or aged < 0 or aged >= HEADER_AGE

-- Ignores a clock step that the caller contradicts. A wall clock counts only against a step beyond
-- any lock, in a store that was in use until now.
local function observeWitness()
  local lastNow = lastTime + read[4]
  local isFar = now - lastNow > longest + STEP
  local fits = isFar and wall and wall >= lastNow - STEP and wall <= lastNow + longest
  local ahead = now - math.max(lastNow, reckoned or fits and wall or now)
  if ahead > STEP then now, slew, isNews = now - ahead, slew - ahead, true end
end
if lastTime and not isOther then observeWitness() end

local function tokenAt(ms) return positionAt(ms, TOKENS_PER_MS) end

-- Possibly lost locks have ended by then.
local function lose()
  era, isNews = era + 1, true
  ready = math.max(ready, now + longest + lossWindow)
  forgotten = greatest(forgotten, tokenAt(now))
end
if isOther then lose() end

-- A lock is stored as token|era|since|until|holder|label.
local LINE = '^(%d+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$'

local function readLock()
  local line = read[13]
  if not line then return nil end
  local token, rowEra, since, till, holder, label = string.match(line, LINE)
  if not token then return redis.error_reply('ERR a lock is not as it was written') end
  return { token = token, era = tonumber(rowEra), since = tonumber(since),
    till = tonumber(till), holder = holder, label = label }
end

-- A caller with a higher token than the stored one proves that the store has lost data.
local function observeToken(row, have)
  local isMissing
  if row then isMissing = isLess(row.token, have)
  else isMissing = timeAt(have, TOKENS_PER_MS) + KEPT > now end
  if not isMissing or not isLess(forgotten, have) then return end
  forgotten = have
  lose()
end

-- A caller with a higher loss count has used a server that replaced this one.
local function observeEra(seen)
  if seen <= era then return end
  era = seen
  lose()
end

local function isHeldBy(row)
  return row and row.holder == holder and row.era == era and row.till > now
end

local function keepHeader()
  if not isNews then return end
  redis.call('HSET', key, 'version', VERSION, 'incarnation', incarnation, 'longest', text(longest),
    'proven', text(proven), 'provenAt', text(provenAt), 'ready', text(ready),
    'forgotten', forgotten)
  keepMoment()
end

local function keepLock(row)
  keepHeader()
  local line = table.concat({ row.token, text(row.era), text(row.since), text(row.till),
    row.holder, row.label }, '|')
  redis.call('HSET', key, lockField, line)
end
