-- Renew the lease of a ticket in its caller's hands. One held for a waiter or a plan keeps the end it has.
--
-- KEYS  1 root
-- ARGV  4 the ticket's id, 5 when its engine sent a byte last, or '' where the caller does not tell
-- result: 1, or 0 when it is not held any more

register('renew', function()
  local ticket = get('ticket', ARGV[4])
  if ticket == nil then return finish(0) end
  if is_delivered(ticket) then
    redis.call('ZADD', key('lease:ticket'), exact(CLOCK + LIMITS.ticket_lease_s), ticket.id)
    -- No document: a thousand streams would make hundreds of versions a second that nobody waits for.
    if ARGV[5] ~= '' then
      local before = tonumber(redis.call('HGET', key('progress'), ticket.id) or 0)
      if tonumber(ARGV[5]) > before then redis.call('HSET', key('progress'), ticket.id, ARGV[5]) end
    end
  end
  return finish(1)
end)
