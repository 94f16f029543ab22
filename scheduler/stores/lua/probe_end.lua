-- Store what a probe saw. One begun before a load or unload here that has ended since is dropped, as is an old one.
--
-- KEYS  1 root
-- ARGV  4 the server, 5 the probe's number, 6 what it saw
-- result: 1 when anything but `probed_at` changed, else 0

local function same(a, b)
  if type(a) ~= 'table' or type(b) ~= 'table' then return a == b end
  for name, value in pairs(a) do
    if not same(value, b[name]) then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end

register('probe_end', function()
  local server, probe, seen = ARGV[4], tonumber(ARGV[5]), cjson.decode(ARGV[6])
  local before = get('server:seen', server)
  local running = redis.call('HGET', key('probing'), server)
  if running and tonumber(string.match(running, '^%d+')) == probe then redis.call('HDEL', key('probing'), server) end
  if before == nil or probe <= tonumber(redis.call('HGET', key('barrier'), server) or 0) then return finish(0) end
  redis.call('HSET', key('barrier'), server, probe)

  local raw = ARGV[6]
  for _, model in ipairs(members('loads:' .. server)) do
    local kept = without_model(seen.residents, model)
    if #kept < #seen.residents then
      seen.residents = kept
      raw = nil
    end
  end
  local probed_at = seen.probed_at
  seen.probed_at = before.probed_at
  local unchanged = same(seen, before)
  seen.probed_at = probed_at
  if unchanged then
    -- When a server was last asked moves nobody: it is kept for the next reader, but it is no new version.
    redis.call('HSET', key('server:seen'), server, raw or cjson.encode(seen))
    return finish(0)
  end
  put_part('seen', server, seen, raw)
  local models, sizes = {}, {}
  for i, resident in ipairs(seen.residents) do
    models[i], sizes[i] = resident.model, resident.footprint_mib or null
  end
  emit('server_changed', {server = server, reason = 'probed', phase = seen.phase, ready = seen.ready,
    detail = seen.detail, residents = models, sizes_mib = sizes})
  return finish(1)
end)
