-- Lists the commands on a hash that the user has no permission for, without running them.
-- KEYS[1]  the hash
-- Answer   'unknown' before Redis 7, which does not report them; else 'known' and those commands
local key = KEYS[1]
if redis.acl_check_cmd == nil then return { 'unknown' } end
local answer = { 'known' }
for _, command in ipairs({ 'HSET', 'HDEL' }) do
  if not redis.acl_check_cmd(command, key, 'h', '') then answer[#answer + 1] = command end
end
return answer
