-- Begin a probe of a server, unless one is under way or the last one began too short a while ago.
--
-- KEYS  1 root
-- ARGV  4 the server, 5 the lease in seconds, 6 the least seconds between two probes
-- result: the probe's number, or 0

register('probe_begin', function()
  local server = ARGV[4]
  if redis.call('HEXISTS', key('server:config'), server) == 0 then return finish(0) end
  local running = redis.call('HGET', key('probing'), server)
  if running and tonumber(string.match(running, ' (.*)')) > CLOCK then return finish(0) end
  local last = tonumber(redis.call('HGET', key('probed'), server) or 0)
  if CLOCK >= last and CLOCK - last < tonumber(ARGV[6]) then return finish(0) end
  redis.call('HSET', key('probed'), server, exact(CLOCK))
  local number = redis.call('HINCRBY', key('meta'), 'probe', 1)
  redis.call('HSET', key('probing'), server, number .. ' ' .. exact(CLOCK + tonumber(ARGV[5])))
  return finish(number)
end)
