-- Let calls be placed on a server, or keep them away. The system changes only what is open, and what it said itself.
--
-- KEYS  1 root
-- ARGV  4 the server, 5 how it stands from now on, 6 '1' when a single call is to try it first,
--       7 since when it must stand as it does for that, or '',
--       8.. the states it must be in for that; none: whichever it is in
-- result: 1 when that changed anything, 0 when not, -1 when there is no such server

local OPEN = {state = 'open', reason = '', since = 0, by = 'operator'}

register('admission_set', function()
  local server, new = ARGV[4], cjson.decode(ARGV[5])
  if not exists('server:config', server) then return finish(-1) end
  local old = get('server:admission', server) or OPEN
  if new.by == 'system' and old.state ~= 'open' and old.by ~= 'system' then return finish(0) end
  local is_same = new.state == old.state and new.reason == old.reason and new.cause == (some(old.cause) or null)
  if is_same then return finish(0) end
  if ARGV[7] ~= '' and old.since ~= tonumber(ARGV[7]) then return finish(0) end
  if #ARGV > 7 and not has_item({unpack(ARGV, 8)}, old.state) then return finish(0) end

  put_part('admission', server, new, ARGV[5])
  if ARGV[6] == '1' then
    local learned = get('server:learned', server)
    local circuit = learned.circuit
    circuit.openings = math.max(circuit.openings, 1)
    circuit.opened_at, circuit.rests_until = some(circuit.opened_at) or NOW, NOW
    put_part('learned', server, learned)
  end
  if new.state == 'quarantined' then take_back_unsent(server) end
  emit('admission', {server = server, state = new.state, reason = new.reason, by = new.by, cause = new.cause})
  return finish(1)
end)
