-- Make these the registered servers, known footprints and crews' weights.
--
-- KEYS  1 root
-- ARGV  4 an empty `seen`, 5 an empty `learned`, 6 the number of servers, 7 of footprints, 8 of weights,
--       then name and document of each, in that order
-- result: 1 when anything changed, else 0

-- Read so many names and documents from an argument on; give also where the next ones begin.
local function pairs_from(at, count)
  local rows, names = {}, {}
  local after = at + 2 * tonumber(count)
  for i = at, after - 1, 2 do
    rows[ARGV[i]] = ARGV[i + 1]
    names[#names + 1] = ARGV[i]
  end
  table.sort(names)
  return rows, names, after
end

local function sorted_fields(name)
  local fields = redis.call('HKEYS', key(name))
  table.sort(fields)
  return fields
end

local function clear(server, reason)
  for _, id in ipairs(ids_on(server)) do revoke(get('ticket', id), reason) end
  for _, model in ipairs(members('loads:' .. server)) do
    end_load(server, model)
    emit('load_failed', {server = server, model = model, reason = reason})
  end
  end_drain(server, reason)
  set_barrier(server)
end

-- Who is in a resource group: what a claim on one of its servers must count.
local function change_group(server, old, new)
  local before, after = old and some(old.resource_group), new and some(new.resource_group)
  if before then redis.call('SREM', key('group:' .. before.name), server) end
  if after then redis.call('SADD', key('group:' .. after.name), server) end
end

local function write(server, raw)
  local old, new = get('server:config', server), cjson.decode(raw)
  local same = old and old.kind == new.kind and old.endpoint == new.endpoint
  if old and not same then clear(server, 'server-replaced') end
  if not same then
    put_part('seen', server, cjson.decode(ARGV[4]), ARGV[4])
    put_part('learned', server, cjson.decode(ARGV[5]), ARGV[5])
    redis.call('HDEL', key('probing'), server)
    -- What an operator said holds for whatever stands there; how an engine behaved is of another one.
    local admission = get('server:admission', server)
    if admission and admission.state == 'quarantined' then
      put_part('admission', server, {state = 'open', reason = '', since = NOW, by = 'operator', cause = null})
    end
  end
  change_group(server, old, new)
  put_part('config', server, new, raw)
  emit('server_changed', {server = server, reason = old and 'configured' or 'registered'})
end

local function forget(server)
  clear(server, 'server-gone')
  change_group(server, get('server:config', server))
  for _, part in ipairs({'config', 'seen', 'learned', 'admission'}) do remove('server:' .. part, server) end
  redis.call('HDEL', key('probing'), server)
  remove('server', server) -- only a delta: nothing is stored under this name
  emit('server_changed', {server = server, reason = 'removed'})
end

local function replace_all(name, rows, names)
  for _, id in ipairs(names) do
    if redis.call('HGET', key(name), id) ~= rows[id] then
      put(name, id, true, rows[id])
    end
  end
  for _, id in ipairs(sorted_fields(name)) do
    if rows[id] == nil then remove(name, id) end
  end
end

register('configure', function()
  local servers, names, after = pairs_from(9, ARGV[6])
  for _, server in ipairs(names) do
    if redis.call('HGET', key('server:config'), server) ~= servers[server] then write(server, servers[server]) end
  end
  for _, server in ipairs(sorted_fields('server:config')) do
    if servers[server] == nil then forget(server) end
  end
  local footprints, models, rest = pairs_from(after, ARGV[7])
  replace_all('footprint', footprints, models)
  replace_all('weight', pairs_from(rest, ARGV[8]))
  return finish(#order > 0 and 1 or 0)
end)
