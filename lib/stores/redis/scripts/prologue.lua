-- Every script that changes its hash begins with this, after time, version and fields: which server
-- it is. What else it reads of the hash comes in the same step: read[8] is the first of `fields`.
-- KEYS[1]  a hash, so that what it holds lives, moves and dies whole
-- ARGV     as the script says; the last one may be 'keepsWrites'
-- Answer   'other-version', the stored one and the time, if another protocol keeps the hash; an
--          error on a replica, or if the server cannot be identified, since a failover could then
--          forget its grants unnoticed, unless the caller says that this Redis never loses a part
--          of its writes
local key = KEYS[1]
local read = redis.call('HMGET', key, 'version', 'lastTime', 'server', 'slew', 'era', 'incarnation',
  'epoch', unpack(fields))
local version, lastTime, lastServer, slew, era, incarnation, lastEpoch = unpack(read, 1, 7)
if version and version ~= VERSION then return { 'other-version', version, time } end

local function text(number) return string.format('%.0f', number) end -- not 1.7952e+15

-- One half changes with a restart, one with a failover. From version 7 on one call returns both.
local refusal = { err = 'NOSERVER INFO names no run_id and no master_replid' }
local function info(...)
  local reply = redis.pcall('INFO', ...)
  if type(reply) == 'string' then return reply end
  refusal = reply
end
local facts = redis.REDIS_VERSION_NUM and info('server', 'replication')
  or (info('server') or '') .. (info('replication') or '')
-- What a replica is sent it forgets as soon as it follows its master again.
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
-- Without a name it counts as the server that is stored, so that a caller who is told the name
-- goes on comparing.
local server = run and replication and run .. ':' .. replication or lastServer or 'declared'

-- A hash without its last field counts as absent: the first script that wrote it did not end.
local isOther = lastTime and lastServer ~= server -- acknowledged writes may be gone
-- This is the number of the failover by which Sentinel named this server, as the caller knows it:
-- a later one of the same server means that it was left for another one in between.
local epoch = isOther and 0 or tonumber(lastEpoch or 0)
local isLater = lastTime and epoch > 0 and (ARGV.epoch or 0) > epoch
-- Without a name it may as well be the new one.
local isLeft = isLater and isNamed
epoch, isOther = math.max(epoch, ARGV.epoch or 0), isOther or isLater
