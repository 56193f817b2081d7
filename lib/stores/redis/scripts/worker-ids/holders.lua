-- Every operation on worker ids reads and writes holders with this, after the registry.
-- KEYS[1]  the registry
-- Answer   'ok', worker id, floor, ceiling; a status and the wait in ms; or as registry.lua has it

-- A holder is stored as token|nonce|floor|era|since|label; after a move of layouts the era is
-- followed by a point and the count of their changes.
local HOLDER = '^([^|]*)|([^|]*)|(%d+)|(%d+)%.?(%d*)|(%d+)|(.*)$'

local function holderIn(line)
  if not line then return nil end
  local token, nonce, floor, holderEra, moves, since, label = string.match(line, HOLDER)
  return { token = token, nonce = nonce, floor = tonumber(floor), era = tonumber(holderEra),
    moves = tonumber(moves) or 0, since = tonumber(since), label = label }
end

-- In between, its worker id may have been for another layout.
local function missedMove(holder) return holder.moves < moveCount(fingerprint) - 1 end

local function readHolder(worker) return holderIn(redis.call('HGET', key, 'o' .. worker)) end

local function store(worker, ceiling, holder)
  local grade = text(holder.era)
  if holder.moves > 0 then grade = grade .. '.' .. text(holder.moves) end
  local line = table.concat({ holder.token, holder.nonce, text(holder.floor), grade,
    text(holder.since), holder.label }, '|')
  redis.call('HSET', key, 'c' .. worker, text(ceiling), 'o' .. worker, line)
end

-- Grants a range, or the part of it that no server can forget any more: what this step stores is
-- granted by a later one, once it has the age. Whoever stored an end did so one ttl before it.
local function grantKept(worker, holder, ceiling, stored, minRange, status)
  local granted, wait = ceiling, 0
  if keepsAfter > 0 then
    local isNew = not stored or stored < now + minRange
    granted, wait = stored, isNew and keepsAfter or stored - ttl + keepsAfter - now
    -- An end that is stored anew before it was granted would never get the age.
    if not isNew and wait > 0 then return answer(status, math.min(keepsAfter, wait), 'stored') end
  end
  store(worker, ceiling, holder)
  if wait > 0 then return answer(status, wait, 'stored') end
  return answer('ok', worker, holder.floor, granted)
end

local function forget(worker, holder)
  redis.call('HDEL', key, 'o' .. worker, 'k' .. holder.token)
end
