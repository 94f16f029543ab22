-- End what has outlived its lease or limit, a bounded number at a time, and name the loads that nobody drives.
--
-- KEYS  1 root
-- ARGV  none
-- result: {tickets, waiters, plans, intents, {undriven loads}}

local BATCH = 1000

local function due(name, limit)
  return redis.call('ZRANGEBYSCORE', key(name), '-inf', exact(limit), 'LIMIT', 0, BATCH)
end

register('reap', function()
  local counted = {tickets = 0, waiters = 0, plans = 0, intents = 0}

  for _, id in ipairs(due('lease:waiter', CLOCK)) do
    abandon(get('waiter', id), 'lapsed')
    counted.waiters = counted.waiters + 1
  end
  for _, id in ipairs(due('lease:ticket', CLOCK)) do
    local ticket = get('ticket', id)
    if ticket then
      local plan = some(ticket.plan) and get('plan', ticket.plan)
      drop_ticket(ticket)
      if is_delivered(ticket) then count_use('use', ticket.model, NOW, 0) end
      emit_of('lapsed', ticket, {reason = 'lease'})
      if plan then drop_plan(plan, 'lapsed') end
      if is_delivered(ticket) then doubt(ticket.server, 'worker_terminated') end
      counted.tickets = counted.tickets + 1
    end
  end
  for _, id in ipairs(due('age:plan', NOW - LIMITS.plan_limit_s)) do
    drop_plan(get('plan', id), 'limit')
    counted.plans = counted.plans + 1
  end
  for _, id in ipairs(due('age:intent', NOW - LIMITS.intent_limit_s)) do
    drop_intent(id)
    counted.intents = counted.intents + 1
  end

  local undriven = {}
  local ids = redis.call('HKEYS', key('load'))
  table.sort(ids)
  for _, id in ipairs(ids) do
    local ends = redis.call('ZSCORE', key('lease:runner'), id)
    if not ends or tonumber(ends) <= CLOCK then undriven[#undriven + 1] = redis.call('HGET', key('load'), id) end
  end
  return finish({counted.tickets, counted.waiters, counted.plans, counted.intents, undriven})
end)
