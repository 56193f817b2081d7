-- Every script on a counter begins with this, after the clock and the numbers: it reads a counter.
-- Implements the same rules as lib/counters/counter-rules.ts.
-- ARGV     1 counter, 2 loss window ms, 3 random text, 4.. see each script
local counter, lossWindow, random = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if not lastTime then incarnation = random end
if isOther then era = era + 1 end
if isLeft then era = era + 1 end -- the other server has jumped from the same place

-- file.lua sets these: how much a restart may lose beyond the window, whether an fsync is running,
-- and the reason for refusing every dense grant.
local atRiskMs, isSyncing, doubt = 0, nil, nil
local SYNC_MS = 100 -- until it is asked again whether an fsync is over

-- A counter is stored as its next position and form|era|margin|ready|window|count|grant.
local LINE = '^([^|]*)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$'

local function blank(form, position, blankEra)
  return { form = form, next = position, era = blankEra, margin = '0', ready = 0, window = 0,
    count = '0', grant = '' }
end

local function readCounter()
  local position, line = read[8], read[9]
  if not position or not line then return nil end
  local form, rowEra, margin, ready, window, count, grant = string.match(line, LINE)
  return { form = form, next = position, era = tonumber(rowEra), margin = margin,
    ready = tonumber(ready), window = tonumber(window), count = count, grant = grant }
end

local function keep(row)
  if not lastTime then
    redis.call('HSET', key, 'version', VERSION, 'incarnation', incarnation)
  end
  local line = table.concat({ row.form, text(row.era), row.margin, text(row.ready),
    text(row.window), row.count, row.grant }, '|')
  keepMoment(nextField, row.next, restField, line)
end
