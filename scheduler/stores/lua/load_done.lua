-- A copy is resident: its load ends, its tickets become active, the load rate is learned.
--
-- KEYS  1 root
-- ARGV  4 the server, 5 the model, 6 the resident, 7 how long it took in seconds
-- result: nothing

register('load_done', function()
  local server, model, took = ARGV[4], ARGV[5], tonumber(ARGV[7])
  local load = get('load', load_key(server, model))
  if load == nil then return finish() end
  set_barrier(server)
  for _, victim in ipairs(load.evicts) do
    settle_victim(load, victim)
    unlist(server, victim)
  end
  end_load(server, model)
  local seen = get('server:seen', server)
  seen.residents = without_model(seen.residents, model)
  seen.residents[#seen.residents + 1] = cjson.decode(ARGV[6])
  put_part('seen', server, seen)
  for _, id in ipairs(ids_on(server)) do
    local ticket = get('ticket', id)
    if ticket.model == model and ticket.state == 'loading' then
      ticket.state, ticket.started_at = 'active', NOW
      put('ticket', id, ticket)
    end
  end
  local learned = get('server:learned', server)
  if took > 0 then learned.load_mib_per_s = ease(some(learned.load_mib_per_s), load.footprint_mib / took) end
  learned.failures[model], learned.blocked_until[model] = nil, nil
  if next(learned.failures) == nil then learned.load_problem = '' end
  put_part('learned', server, learned)
  emit('load_done', {server = server, model = model, took_s = took, footprint_mib = load.footprint_mib})
  return finish()
end)
