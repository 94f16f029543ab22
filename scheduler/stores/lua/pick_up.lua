-- Hand a settled wait to its caller and forget the waiter. Asking renews the waiter's lease.
--
-- KEYS  1 root
-- ARGV  4 the waiter's id
-- result: 'gone', 'waiting', {'ticket', ticket, arrived_at} or {'reason', reason, model, arrived_at}

register('pick_up', function()
  local waiter = get('waiter', ARGV[4])
  if waiter == nil then return finish('gone') end
  if some(waiter.stood_aside) then
    forget_waiter(waiter, 'stood-aside')
    return finish({'reason', waiter.stood_aside, waiter.model, exact(waiter.arrived_at)})
  end
  local ticket = some(waiter.ticket) and get('ticket', waiter.ticket)
  if not ticket or ticket.state == 'loading' then
    redis.call('ZADD', key('lease:waiter'), exact(CLOCK + LIMITS.waiter_lease_s), waiter.id)
    return finish('waiting')
  end

  forget_waiter(waiter, 'delivered')
  if ticket.call == '' then ticket.call = waiter.id end
  ticket.waiter = null
  ticket.started_at = NOW
  put('ticket', ticket.id, ticket)
  redis.call('ZADD', key('lease:ticket'), exact(CLOCK + LIMITS.ticket_lease_s), ticket.id)
  count_use('use', ticket.model, NOW, 1)
  emit_of('delivered', ticket)
  return finish({'ticket', text_of('ticket', ticket.id), exact(waiter.arrived_at)})
end)
