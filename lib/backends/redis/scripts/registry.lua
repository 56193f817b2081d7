-- What every operation on the registry begins with. It says what registry-state.ts says.
-- KEYS[1]  the registry, one hash, so that it lives, moves and dies whole
-- ARGV     1 fingerprint, 2 ttl ms, 3 loss window ms, 4 '1' if a fresh registry is trusted,
--          5 random text, 6.. as the operation says
-- Answer   flat array: status, worker id, floor, ceiling, now, incarnation, server, operations;
--          or status and the wait in ms, or 'layout-mismatch' and the fingerprint stored
local key, fingerprint, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])

-- tostring() would write 1.7952e+15.
local function text(number) return string.format('%.0f', number) end

local function info(section, field)
  local reply = redis.pcall('INFO', section)
  return type(reply) == 'string' and string.match(reply, field .. ':(%w+)') or '?'
end

local time = redis.call('TIME')
time = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local server = info('server', 'run_id') .. ':' .. info('replication', 'master_replid')
local stored = redis.call('HMGET', key, 'fingerprint', 'incarnation', 'server', 'lastTime', 'slew',
  'quarantine', 'safeFloor', 'era', 'operations')
local quarantine = math.max(tonumber(stored[6] or 0), ttl + tonumber(ARGV[3]))
local incarnation, slew, safeFloor, era, operations, now

-- Acknowledged writes may be gone: nothing granted from here on starts before they would end.
local function noteLoss()
  era = era + 1
  safeFloor = math.max(safeFloor, now + quarantine)
end

if not stored[1] then
  incarnation, slew, era, operations, now = ARGV[5], 0, 1, 0, time
  safeFloor = ARGV[4] == '1' and now or now + quarantine
  redis.call('HSET', key, 'version', '1', 'fingerprint', fingerprint, 'incarnation', incarnation)
elseif stored[1] ~= fingerprint then
  return { 'layout-mismatch', stored[1] }
else
  incarnation, slew, safeFloor = stored[2], tonumber(stored[5]), tonumber(stored[7])
  era, operations = tonumber(stored[8]), tonumber(stored[9])
  -- The clock never goes back: the slew takes up a step, then decays by half of what elapses.
  local elapsed = time - tonumber(stored[4])
  slew = elapsed < 0 and slew - elapsed or math.max(0, slew - math.floor(elapsed / 2))
  now = time + slew
  if stored[3] ~= server then noteLoss() end
end
operations = operations + 1

local function answer(...)
  redis.call('HSET', key, 'server', server, 'lastTime', text(time), 'slew', text(slew),
    'quarantine', text(quarantine), 'safeFloor', text(safeFloor), 'era', text(era),
    'operations', text(operations))
  return { ... }
end

local function grant(worker, floor, ceiling)
  return answer('ok', worker, floor, ceiling, now, incarnation, server, operations)
end

-- An owner is stored as token|nonce|floor|era|since|label.
local OWNER = '^([^|]*)|([^|]*)|(%d+)|(%d+)|(%d+)|(.*)$'

local function readOwner(worker)
  local line = redis.call('HGET', key, 'o' .. worker)
  if not line then return nil end
  local token, nonce, floor, ownerEra, since, label = string.match(line, OWNER)
  return { token = token, nonce = nonce, floor = tonumber(floor), era = tonumber(ownerEra),
    since = tonumber(since), label = label }
end

local function store(worker, ceiling, owner)
  local line = table.concat({ owner.token, owner.nonce, text(owner.floor), text(owner.era),
    text(owner.since), owner.label }, '|')
  redis.call('HSET', key, 'c' .. worker, text(ceiling), 'o' .. worker, line)
end

local function forget(worker, owner)
  redis.call('HDEL', key, 'o' .. worker, 'k' .. owner.token)
end
