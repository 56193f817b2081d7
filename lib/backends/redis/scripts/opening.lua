-- What every script on a registry begins with: version, clock, server, loss of data, layout.
-- It says what the registry room says in opening.ts, registry-clock.ts and layout-claim.ts.
-- KEYS[1]  the registry, one hash, so that it lives, moves and dies whole
-- ARGV     1 fingerprint, 2 ttl ms, 3 loss window ms, 4 random text, 5.. as the script says
-- Answer   a status and its values; or 'layout-mismatch' or 'other-version' and what is stored
local key, layout, ttl, lossWindow, random = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local VERSION, SANE_MS = '1', 86400000 -- a ceiling further ahead is a fault of the holder's clock

local version, lastTime, lastFingerprint, incarnation, lastServer, slew, lastQuarantine, safeFloor,
  era, operations = unpack(redis.call('HMGET', key, 'version', 'lastTime', 'fingerprint',
  'incarnation', 'server', 'slew', 'quarantine', 'safeFloor', 'era', 'operations'))
if version and version ~= VERSION then return { 'other-version', version } end

local function text(number) return string.format('%.0f', number) end -- not 1.7952e+15
local seconds, us = unpack(redis.call('TIME'))
local time = seconds * 1000 + math.floor(us / 1000)

-- One half changes with a restart, one with a failover. From version 7 on one call tells both.
local function info(...)
  local reply = redis.pcall('INFO', ...)
  return type(reply) == 'string' and reply
end
local told = redis.REDIS_VERSION_NUM and info('server', 'replication')
  or (info('server') or '') .. (info('replication') or '')
local function field(name)
  local _, last = string.find(told, name, 1, true) -- plain: a pattern would cost 5 us
  return last and string.match(told, '^%w+', last + 1) or '?'
end
local server = field('run_id:') .. ':' .. field('master_replid:')

local fingerprint, quarantine, now = lastFingerprint, ttl + lossWindow, time
-- Acknowledged writes may be gone: nothing granted from here on starts before they would end.
local function noteLoss()
  era = era + 1
  safeFloor = math.max(safeFloor, now + quarantine)
end

-- Without its last field a registry is absent: the first script that wrote it did not end.
if not lastTime then
  fingerprint, incarnation, slew, era, operations = '', random, 0, 1, 0
  safeFloor = now + quarantine
else
  slew, safeFloor, lastQuarantine = tonumber(slew), tonumber(safeFloor), tonumber(lastQuarantine)
  -- The clock never goes back: the slew takes up a step, then decays by half of what elapses.
  local elapsed = time - lastTime
  slew = elapsed < 0 and slew - elapsed or math.max(0, slew - math.floor(elapsed / 2))
  now, era, operations = time + slew, tonumber(era), tonumber(operations)
  -- What the last loss forgot may end later than was known then: its floor moves as far.
  if quarantine > lastQuarantine then
    safeFloor = safeFloor + quarantine - lastQuarantine
    if safeFloor > now then era = era + 1 end
  else
    quarantine = lastQuarantine
  end
  if lastServer ~= server then noteLoss() end
end
operations = operations + 1

local function answer(...)
  if not lastTime or fingerprint ~= lastFingerprint then
    redis.call('HSET', key, 'version', VERSION, 'fingerprint', fingerprint,
      'incarnation', incarnation)
  end
  redis.call('HSET', key, 'server', server, 'slew', text(slew), 'quarantine', text(quarantine),
    'safeFloor', text(safeFloor), 'era', text(era), 'operations', text(operations),
    'lastTime', text(time))
  return { ... }
end

local function isLive(have) return now < have and have < now + SANE_MS end
-- The answer to another layout than the registry's. Where both have ranges that still last, none
-- is the right one: no layout has the fingerprint written then, so that both sides stop.
local function refusal(have)
  if fingerprint == '' or fingerprint == layout then return nil end
  if string.find(fingerprint, ' and ', 1, true) or not isLive(have) then
    return { 'layout-mismatch', fingerprint }
  end
  fingerprint = fingerprint .. ' and ' .. layout
  return answer('layout-mismatch', fingerprint)
end
