-- What a call's end teaches about its server: its usual length, its success rate, and its circuit.

local function open_circuit(server, circuit)
  local rest_s = math.min(LIMITS.circuit_rest_s * 2 ^ circuit.openings, LIMITS.circuit_rest_max_s)
  circuit.openings = circuit.openings + 1
  circuit.opened_at, circuit.rests_until = some(circuit.opened_at) or NOW, NOW + rest_s
  emit('circuit_opened', {server = server, failures = circuit.failures, status = circuit.status,
    rests_until = circuit.rests_until})
end

local function close_circuit(server, learned)
  local circuit = learned.circuit
  if some(circuit.rests_until) then emit('circuit_closed', {server = server, opened_at = circuit.opened_at}) end
  learned.circuit = {failures = 0, openings = 0, opened_at = null, rests_until = null, trial = null, status = null}
end

-- While the circuit is open, only the call that tries says anything new: the others began before.
local function count_failure(server, circuit, status, was_trial)
  local is_closed = not some(circuit.rests_until)
  if not is_closed and not was_trial then return end
  circuit.failures, circuit.status = circuit.failures + 1, status
  if was_trial or circuit.failures >= LIMITS.circuit_failures then open_circuit(server, circuit) end
end

-- Learn from how a call went; give how long it ran, when it did.
local function learn(ticket, lesson, status, was_trial)
  local learned = get('server:learned', ticket.server)
  if learned == nil or ticket.state ~= 'active' then return nil end
  local active_s = math.max(NOW - ticket.started_at, 0)
  if lesson == 'neither' then return active_s end
  local went_well = lesson == 'well'
  if went_well then
    learned.call_s = ease(some(learned.call_s) or LIMITS.usual_call_s, active_s)
    close_circuit(ticket.server, learned)
    learned.answered_at = NOW
  else
    count_failure(ticket.server, learned.circuit, status, was_trial)
  end
  learned.success_rate = ease(some(learned.success_rate) or 1, went_well and 1 or 0)
  put_part('learned', ticket.server, learned)
  return active_s
end

-- Say whether calls may come, as far as operators and the circuit go. A place held ahead of its call is no trial.
local function is_let_in(ticket)
  local admission = get('server:admission', ticket.server)
  if admission and admission.state ~= 'open' then return false end
  local circuit = get('server:learned', ticket.server).circuit
  local rests_until = some(circuit.rests_until)
  if rests_until == nil then return true end
  return NOW >= rests_until and not some(circuit.trial) and ticket.state ~= 'planned'
end

local function begin_trial(ticket)
  local learned = get('server:learned', ticket.server)
  if some(learned.circuit.rests_until) then
    learned.circuit.trial = ticket.id
    put_part('learned', ticket.server, learned)
  end
end
