-- A load ended without a copy: its tickets are taken back, their waiters wait again, the model rests here for a while.
--
-- KEYS  1 root
-- ARGV  4 the server, 5 the model, 6 the problem
-- result: nothing

register('load_failed', function()
  local server, model = ARGV[4], ARGV[5]
  local load = get('load', load_key(server, model))
  if load == nil then return finish() end
  set_barrier(server)
  end_load(server, model)
  for _, id in ipairs(ids_on(server)) do
    local ticket = get('ticket', id)
    if ticket.model == model then revoke(ticket, 'load-failed') end
  end
  local learned = get('server:learned', server)
  local times = (learned.failures[model] or 0) + 1
  local rest_s = math.min(LIMITS.load_block_s * 2 ^ (times - 1), LIMITS.load_block_max_s)
  learned.failures[model], learned.blocked_until[model] = times, NOW + rest_s
  learned.load_problem = ARGV[6]
  learned.success_rate = ease(some(learned.success_rate) or 1, 0)
  put_part('learned', server, learned)
  emit('load_failed', {server = server, model = model, reason = ARGV[6], failures = times,
    blocked_until = NOW + rest_s})
  return finish()
end)
