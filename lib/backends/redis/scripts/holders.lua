-- What every operation knows of layouts and holders, behind the beginning. It says what
-- lib/registry/layout-claim.ts says.
-- KEYS[1]  the registry
-- ARGV     1 fingerprint
-- Answer   as opening.lua has it
local SANE_MS = 86400000 -- a wilder claim is a fault of the holder's clock

-- Whether a holder has a range that it may still make ids in.
local function isLive(have) return now < have and have < now + SANE_MS end

-- The answer to another layout than the registry's. Where both have ranges that still last, none
-- is the right one: no layout has the fingerprint written then, so that both sides stop.
local function refusal(have)
  if fingerprint == '' or fingerprint == ARGV[1] then return nil end
  if string.find(fingerprint, ' and ', 1, true) or not isLive(have) then
    return { 'layout-mismatch', fingerprint }
  end
  fingerprint = fingerprint .. ' and ' .. ARGV[1]
  return answer('layout-mismatch', fingerprint)
end

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
