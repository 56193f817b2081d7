-- What every operation on the registry begins with. It says what lib/registry/opening.ts says.
-- KEYS[1]  the registry, one hash, so that it lives, moves and dies whole
-- ARGV     1 fingerprint, 2 ttl ms, 3 loss window ms, 4 random text, 5.. as the operation says
-- Answer   flat array: status, worker id, floor, ceiling, now, incarnation, server, operations,
--          quarantine; or status and the wait in ms; or 'layout-mismatch' and the fingerprint
--          stored; or 'other-version' and the version stored
local key, ttl, VERSION = KEYS[1], tonumber(ARGV[2]), '1'
local stored = redis.call('HMGET', key, 'version', 'lastTime', 'fingerprint', 'incarnation',
  'server', 'slew', 'quarantine', 'safeFloor', 'era', 'operations')
if stored[1] and stored[1] ~= VERSION then return { 'other-version', stored[1] } end

-- tostring() would write 1.7952e+15.
local function text(number) return string.format('%.0f', number) end

local function info(section, field)
  local reply = redis.pcall('INFO', section)
  return type(reply) == 'string' and string.match(reply, field .. ':(%w+)') or '?'
end

local time = redis.call('TIME')
time = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local server = info('server', 'run_id') .. ':' .. info('replication', 'master_replid')
local quarantine = ttl + tonumber(ARGV[3])
local fingerprint, incarnation, slew, safeFloor, era, operations, now

-- Acknowledged writes may be gone: nothing granted from here on starts before they would end.
local function noteLoss()
  era = era + 1
  safeFloor = math.max(safeFloor, now + quarantine)
end

-- Without its last field a registry is absent: the first script that wrote it did not end.
if not stored[2] then
  fingerprint, incarnation, slew, era, operations, now = '', ARGV[4], 0, 1, 0, time
  safeFloor = now + quarantine
else
  fingerprint, incarnation, slew = stored[3], stored[4], tonumber(stored[6])
  safeFloor, era, operations = tonumber(stored[8]), tonumber(stored[9]), tonumber(stored[10])
  -- The clock never goes back: the slew takes up a step, then decays by half of what elapses.
  local elapsed = time - tonumber(stored[2])
  slew = elapsed < 0 and slew - elapsed or math.max(0, slew - math.floor(elapsed / 2))
  now = time + slew
  -- What the last loss forgot may end later than was known then: its floor moves as far.
  local longer = quarantine - tonumber(stored[7])
  if longer > 0 then
    safeFloor = safeFloor + longer
    if safeFloor > now then era = era + 1 end
  else
    quarantine = tonumber(stored[7])
  end
  if stored[5] ~= server then noteLoss() end
end
operations = operations + 1

local function answer(...)
  if stored[3] ~= fingerprint or not stored[2] then
    redis.call('HSET', key, 'version', VERSION, 'fingerprint', fingerprint, 'incarnation',
      incarnation)
  end
  redis.call('HSET', key, 'server', server, 'slew', text(slew), 'quarantine', text(quarantine),
    'safeFloor', text(safeFloor), 'era', text(era), 'operations', text(operations), 'lastTime',
    text(time))
  return { ... }
end
