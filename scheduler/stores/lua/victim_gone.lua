-- The engine confirmed an unload.
--
-- KEYS  1 root
-- ARGV  4 the server, 5 the model whose load asked for it, 6 the victim
-- result: nothing

register('victim_gone', function()
  local server, victim = ARGV[4], ARGV[6]
  local load = get('load', load_key(server, ARGV[5]))
  if load == nil or not has_item(load.evicts, victim) then return finish() end
  set_barrier(server)
  settle_victim(load, victim)
  unlist(server, victim)
  emit('victim_gone', {server = server, model = victim, load = ARGV[5]})
  return finish()
end)
