-- Identifies the server. Every script that changes its hash begins with this, after time, version
-- and fields. The script's own fields are read in the same step: read[8] is the first of `fields`.
-- KEYS[1]  a hash, whose content exists, moves and disappears as a whole
-- ARGV     those of the script; the last one may be 'keepsWrites'
-- Answer   'other-version', the stored version and the time, if the hash has another version. An
--          error on a replica, or if the server cannot be identified, because a failover could then
--          lose grants unnoticed. With 'keepsWrites', the caller states that this Redis never loses
--          a part of its writes, and the server's identity is not required
local key = KEYS[1]
local read = redis.call('HMGET', key, 'version', 'lastTime', 'server', 'slew', 'era', 'incarnation',
  'epoch', unpack(fields))
local version, lastTime, lastServer, slew, era, incarnation, lastEpoch = unpack(read, 1, 7)
if version and version ~= VERSION then return { 'other-version', version, time } end

local function text(number) return string.format('%.0f', number) end -- not 1.7952e+15

-- A restart changes one half, a failover the other. From version 7 on, one call returns both.
local refusal = { err = 'NOSERVER INFO names no run_id and no master_replid' }
local function info(...)
  local reply = redis.pcall('INFO', ...)
  if type(reply) == 'string' then return reply end
  refusal = reply
end
local facts = redis.REDIS_VERSION_NUM and info('server', 'replication')
  or (info('server') or '') .. (info('replication') or '')
-- A replica loses direct writes as soon as it follows its master again.
if string.find(facts, '\nrole:slave', 1, true) then
  return { err = 'READONLY role:slave of INFO' }
end
local function field(name)
  local _, last = string.find(facts, name, 1, true) -- plain: a pattern would cost 5 us
  return last and string.match(facts, '^%w+', last + 1)
end
local run, replication = field('run_id:'), field('master_replid:')
local isNamed = run and replication
if not isNamed and ARGV[#ARGV] ~= 'keepsWrites' then return refusal end
-- Without a name, the stored server applies, so that a caller with the server's name continues to
-- compare it.
local server = run and replication and run .. ':' .. replication or lastServer or 'declared'

-- A hash without its last field counts as absent: its first script did not finish.
local isOther = lastTime and lastServer ~= server -- acknowledged writes may be gone
-- The number of the failover in which Sentinel chose this server, as the caller knows it. A later
-- number for the same server means that another server was master in between.
local epoch = isOther and 0 or tonumber(lastEpoch or 0)
local isLater = lastTime and epoch > 0 and (ARGV.epoch or 0) > epoch
-- Without a name, it may also be a new server.
local isLeft = isLater and isNamed
epoch, isOther = math.max(epoch, ARGV.epoch or 0), isOther or isLater
