-- Taking a server out for how its engine behaves.

-- Who was granted a place there and has not got it yet goes back into the line: nothing has been sent for it.
local function take_back_unsent(server)
  for _, id in ipairs(ids_on(server)) do
    local ticket = get('ticket', id)
    if some(ticket.waiter) then revoke(ticket, 'quarantined') end
  end
end

-- Nobody knows whether the engine still works on a call that is over: take the server out, where its operator wants
-- that. What an operator said of it stays; a newer doubt takes the place of an older one, for work that began later ends
-- later.
local function doubt(server, cause)
  local config = get('server:config', server)
  if config == nil or not config.quarantine_on_ambiguous then return end
  local old = get('server:admission', server)
  if old and old.state ~= 'open' and old.by ~= 'system' then return end
  if old and old.cause == cause and old.since == NOW then return end
  put_part('admission', server, {state = 'quarantined', reason = '', since = NOW, by = 'system', cause = cause})
  take_back_unsent(server)
  emit('admission', {server = server, state = 'quarantined', reason = '', by = 'system', cause = cause})
end
