-- What every operation on worker ids knows of their holders, behind the beginning.
-- KEYS[1]  the registry
-- Answer   'ok', worker id, floor, ceiling, now, incarnation, server, operations, quarantine; a
--          status and the wait in ms; or as opening.lua has it
local function grant(worker, floor, ceiling)
  return answer('ok', worker, floor, ceiling, now, incarnation, server, operations, quarantine)
end

-- An owner is stored as token|nonce|floor|era|since|label.
local OWNER = '^([^|]*)|([^|]*)|(%d+)|(%d+)|(%d+)|(.*)$'

local function ownerIn(line)
  if not line then return nil end
  local token, nonce, floor, ownerEra, since, label = string.match(line, OWNER)
  return { token = token, nonce = nonce, floor = tonumber(floor), era = tonumber(ownerEra),
    since = tonumber(since), label = label }
end

local function readOwner(worker) return ownerIn(redis.call('HGET', key, 'o' .. worker)) end

local function store(worker, ceiling, owner)
  local line = table.concat({ owner.token, owner.nonce, text(owner.floor), text(owner.era),
    text(owner.since), owner.label }, '|')
  redis.call('HSET', key, 'c' .. worker, text(ceiling), 'o' .. worker, line)
end

local function forget(worker, owner)
  redis.call('HDEL', key, 'o' .. worker, 'k' .. owner.token)
end
