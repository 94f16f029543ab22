-- Begin a probe of a server, unless one is under way.
--
-- KEYS  1 root
-- ARGV  4 the server, 5 the lease in seconds
-- result: the probe's number, or 0

local server = ARGV[4]
if redis.call('HEXISTS', key('server:config'), server) == 0 then return finish(0) end
local running = redis.call('HGET', key('probing'), server)
if running and tonumber(string.match(running, ' (.*)')) > CLOCK then return finish(0) end
local number = redis.call('HINCRBY', key('meta'), 'probe', 1)
redis.call('HSET', key('probing'), server, number .. ' ' .. exact(CLOCK + tonumber(ARGV[5])))
return finish(number)
