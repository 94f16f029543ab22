-- Read everything at once, for a replica that starts or has lost the thread.
--
-- KEYS  1 root
-- ARGV  none
-- result: the id in the stream of deltas to read on from; the documents come as deltas

local TABLES = {'ticket', 'load', 'waiter', 'drain', 'plan', 'intent', 'use', 'selected', 'footprint', 'weight'}

local function server_text(server)
  return '{"config":' .. redis.call('HGET', key('server:config'), server)
    .. ',"seen":' .. redis.call('HGET', key('server:seen'), server)
    .. ',"learned":' .. redis.call('HGET', key('server:learned'), server)
    .. ',"admission":' .. (redis.call('HGET', key('server:admission'), server) or 'null') .. '}'
end

register('read', function()
  local rows = {}
  for _, server in ipairs(redis.call('HKEYS', key('server:config'))) do
    rows[#rows + 1] = delta('server', server, server_text(server))
  end
  for _, name in ipairs(TABLES) do
    local flat = redis.call('HGETALL', key(name))
    for i = 1, #flat, 2 do rows[#rows + 1] = delta(name, flat[i], flat[i + 1]) end
  end
  local last = redis.call('XREVRANGE', key('deltas'), '+', '-', 'COUNT', 1)
  local number, epoch = present()
  return {number, epoch, '[' .. table.concat(rows, ',') .. ']', last[1] and last[1][1] or '0-0'}
end)
