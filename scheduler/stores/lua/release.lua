-- Give a ticket back and learn from how its call went.
--
-- KEYS  1 root
-- ARGV  4 the ticket's id, 5 the outcome {ok, prompt_tokens, completion_tokens}
-- result: 1, or 0 when it is gone already

local ticket, outcome = get('ticket', ARGV[4]), cjson.decode(ARGV[5])
if ticket == nil then return finish(0) end
local event = with(call_of_ticket(ticket), outcome)
local plan = some(ticket.plan) and get('plan', ticket.plan)
local waiter = some(ticket.waiter) and get('waiter', ticket.waiter)
drop_ticket(ticket)
if waiter then
  waiter.ticket = null
  put('waiter', waiter.id, waiter)
end
if is_delivered(ticket) then
  count_use('use', ticket.model, NOW, 0)
  local learned = get('server:learned', ticket.server)
  if learned and ticket.state == 'active' then
    event.active_s = math.max(NOW - ticket.started_at, 0)
    if outcome.ok then learned.call_s = ease(some(learned.call_s) or LIMITS.usual_call_s, event.active_s) end
    learned.success_rate = ease(some(learned.success_rate) or 1, outcome.ok and 1 or 0)
    put_part('learned', ticket.server, learned)
  end
end
emit('released', event)
if plan then drop_plan(plan, 'released') end
return finish(1)
