-- Renew the lease of a ticket in its caller's hands. One held for a waiter or a plan keeps the end it has.
--
-- KEYS  1 root
-- ARGV  4 the ticket's id
-- result: 1, or 0 when it is not held any more

local ticket = get('ticket', ARGV[4])
if ticket == nil then return finish(0) end
if is_delivered(ticket) then
  redis.call('ZADD', key('lease:ticket'), exact(CLOCK + LIMITS.ticket_lease_s), ticket.id)
end
return finish(1)
