-- Returns the facts that the server of the key reports to scripts.
-- KEYS[1]  a hash, so that a Cluster client calls the right node
-- ARGV     none
-- Answer   the sections server, replication and persistence of INFO; '' for one without permission
local told = {}
for at, section in ipairs({ 'server', 'replication', 'persistence' }) do
  local reply = redis.pcall('INFO', section)
  told[at] = type(reply) == 'string' and reply or ''
end
return told
