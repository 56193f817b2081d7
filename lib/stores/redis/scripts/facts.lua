-- Returns what the server with the key tells a script about itself.
-- KEYS[1]  a hash, so that a Cluster asks the right node
-- ARGV     none
-- Answer   the sections server, replication and persistence of INFO; '' for one that is not told
local told = {}
for at, section in ipairs({ 'server', 'replication', 'persistence' }) do
  local reply = redis.pcall('INFO', section)
  told[at] = type(reply) == 'string' and reply or ''
end
return told
