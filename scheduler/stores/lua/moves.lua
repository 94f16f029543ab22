-- What several functions share: a ticket ends, a wait ends, a plan ends, a counter counts.

local ALPHA = 0.2

local function members(name)
  local found = redis.call('SMEMBERS', key(name))
  table.sort(found)
  return found
end

local function load_key(server, model) return server .. '#' .. model end

local function is_called(resident, model)
  if resident.model == model then return true end
  for _, alias in ipairs(resident.aliases or {}) do
    if alias == model then return true end
  end
  return false
end

-- Give what claims count of the tickets on a server, by their ids: as stored, but for what this step has done to them.
local function places_on(server)
  local flat, found = redis.call('HGETALL', key('on:' .. server)), {}
  for at = 1, #flat, 2 do found[flat[at]] = flat[at + 1] end
  for id in pairs(touched.ticket or {}) do
    local ticket = known.ticket[id]
    found[id] = ticket and ticket.server == server and pack_place(ticket) or nil
  end
  return found
end

local function ids_on(server)
  local ids = {}
  for id in pairs(places_on(server)) do ids[#ids + 1] = id end
  table.sort(ids)
  return ids
end

local function number_or(found, otherwise) return tonumber(found or otherwise) end

-- The virtual times of each class: read once in a step, written at its end.
local times, weights

on_begin(function() times, weights = {}, {} end)

local function time_of(priority, field)
  local class = table_of(times, priority)
  class[field] = class[field] or {at = number_or(redis.call('HGET', key('fair:' .. priority), field), 0)}
  return class[field]
end

local function weight_of(crew)
  weights[crew] = weights[crew] or number_or(redis.call('HGET', key('weight'), crew), 1)
  return weights[crew]
end

local function move_time(time, to) time.at, time.has_moved = to, true end

at_end(function()
  for priority, class in pairs(times) do
    local fields = {}
    for field, time in pairs(class) do
      if time.has_moved then fields[#fields + 1], fields[#fields + 2] = field, exact(time.at) end
    end
    in_parts('HSET', 'fair:' .. priority, fields)
  end
end)

-- Start-time fair queueing: S = max(V, F of the crew), F = S + 1 / weight.
local function take_tag(call)
  local finish_time = time_of(call.priority, 'f:' .. call.crew)
  local tag = math.max(time_of(call.priority, 'v').at, finish_time.at)
  move_time(finish_time, tag + 1 / weight_of(call.crew))
  return tag
end

-- A call of this tag is served: the class's virtual time V reaches it.
local function reach_tag(priority, tag)
  local virtual = time_of(priority, 'v')
  if tag > virtual.at then move_time(virtual, tag) end
end

local function count_use(name, id, at, more)
  local use = get(name, id) or {count = 0, at = at}
  local age = math.max(at - use.at, 0)
  put(name, id, {count = use.count * 0.5 ^ (age / LIMITS.demand_half_life_s) + more, at = math.max(at, use.at)})
end

local function ease(before, sample)
  if before == nil then return sample end
  return before + ALPHA * (sample - before)
end

-- The fields a call's history row is made of.
local function call_of_waiter(waiter)
  return {
    call = waiter.id, waiter = waiter.id, agent = waiter.agent, crew = waiter.crew, thread = waiter.thread,
    phase = waiter.phase, purpose = waiter.purpose, priority = waiter.priority, server = waiter.server,
    model = waiter.model, action = waiter.action, arrived_at = waiter.arrived_at,
    prompt_tokens = waiter.prompt_tokens, key = waiter.key,
  }
end

local function with(event, fields)
  for name, value in pairs(fields) do event[name] = value end
  return event
end

local function end_drain(server, reason)
  local drain = get('drain', server)
  if drain == nil then return end
  remove('drain', server)
  if some(drain.waiter) then redis.call('HDEL', key('drain_of'), drain.waiter) end
  emit('drain_ended', {server = server, model = drain.model, agent = drain.agent, waiter = drain.waiter, reason = reason})
end

local function end_drain_of(waiter, reason)
  local server = redis.call('HGET', key('drain_of'), waiter)
  if server then end_drain(server, reason) end
end

-- Take a ticket out of the books. What it meant for waiter and plan is the caller's business.
local dropped = function() end

local function on_drop(listener) dropped = listener end

-- A trial that says nothing leaves the circuit half open: another call may try.
local function end_trial(ticket)
  local learned = get('server:learned', ticket.server)
  if learned == nil or some(learned.circuit.trial) ~= ticket.id then return false end
  learned.circuit.trial = null
  put_part('learned', ticket.server, learned)
  return true
end

-- Give whether it was its server's trial.
local function drop_ticket(ticket)
  remove('ticket', ticket.id)
  redis.call('ZREM', key('lease:ticket'), ticket.id)
  redis.call('HDEL', key('progress'), ticket.id)
  if ticket.key ~= '' then redis.call('SREM', key('of_key:' .. ticket.key), ticket.id) end
  dropped(ticket)
  return end_trial(ticket)
end

local function is_delivered(ticket) return not some(ticket.waiter) and not some(ticket.plan) end

local function drop_intent(id)
  if exists('intent', id) then remove('intent', id) end
  redis.call('ZREM', key('age:intent'), id)
  redis.call('HDEL', key('held_intent'), id)
end

local function intent_of(plan) return plan.agent .. '#' .. plan.thread end

-- Forget a plan, its intent and, unless it is `kept`, its ticket.
local function drop_plan(plan, reason, kept)
  remove('plan', plan.id)
  redis.call('ZREM', key('age:plan'), plan.id)
  drop_intent(intent_of(plan))
  local ticket = some(plan.ticket) and get('ticket', plan.ticket)
  if ticket and ticket.id ~= kept then drop_ticket(ticket) end
  emit('plan_dropped', {plan = plan.id, agent = plan.agent, crew = plan.crew, thread = plan.thread,
    ticket = plan.ticket, server = ticket and ticket.server or null, model = ticket and ticket.model or null,
    reason = reason})
end

-- A plan's ticket was taken from it: its intent stands again, as old as it was.
local function back_to_intent(plan)
  plan.ticket, plan.trace = null, ''
  put('plan', plan.id, plan)
  local id = intent_of(plan)
  local raw = redis.call('HGET', key('held_intent'), id)
  if raw then
    local intent = cjson.decode(raw)
    put('intent', id, intent, raw)
    redis.call('ZADD', key('age:intent'), exact(intent.at), id)
    redis.call('HDEL', key('held_intent'), id)
  end
end

-- The place behind a ticket is gone: its waiter waits again, its plan stands as an intent, a running call has lost it.
local function revoke(ticket, reason)
  drop_ticket(ticket)
  local waiter = some(ticket.waiter) and get('waiter', ticket.waiter)
  if waiter and waiter.ticket == ticket.id then
    waiter.ticket = null
    put('waiter', waiter.id, waiter)
  end
  local plan = some(ticket.plan) and get('plan', ticket.plan)
  if plan and plan.ticket == ticket.id then back_to_intent(plan) end
  if is_delivered(ticket) then count_use('use', ticket.model, NOW, 0) end
  emit_of('lapsed', ticket, {reason = reason})
end

-- Whose place in line a waiter takes: its client key's, else its agent's.
local function owner_of(waiter)
  return waiter.key ~= '' and 'key:' .. waiter.key or 'agent:' .. waiter.agent
end

local function forget_waiter(waiter, reason)
  remove('waiter', waiter.id)
  redis.call('SREM', key('line_of:' .. owner_of(waiter)), waiter.id)
  redis.call('ZREM', key('lease:waiter'), waiter.id)
  end_drain_of(waiter.id, reason)
end

-- End a wait from outside; a ticket granted meanwhile goes back, the load behind it goes on. One that stood aside has
-- ended before: its story has its end.
local function abandon(waiter, kind, reason)
  local ticket = some(waiter.ticket) and get('ticket', waiter.ticket)
  forget_waiter(waiter, kind)
  if ticket then drop_ticket(ticket) end
  if some(waiter.stood_aside) then return end
  if ticket then return emit_of(kind, ticket, reason and {reason = reason}) end
  local call = call_of_waiter(waiter)
  call.reason = reason
  emit(kind, call)
end

local function set_barrier(server)
  redis.call('HSET', key('barrier'), server, redis.call('HGET', key('meta'), 'probe') or 0)
end

local function without_model(residents, model)
  local kept = {}
  for _, resident in ipairs(residents) do
    if not is_called(resident, model) then kept[#kept + 1] = resident end
  end
  return kept
end

local function without_item(list, item)
  local kept = {}
  for _, other in ipairs(list) do
    if other ~= item then kept[#kept + 1] = other end
  end
  return kept
end

local function end_load(server, model)
  local id = load_key(server, model)
  remove('load', id)
  redis.call('SREM', key('loads:' .. server), model)
  redis.call('HDEL', key('runner'), id)
  redis.call('ZREM', key('lease:runner'), id)
end

local function has_item(list, item)
  for _, other in ipairs(list) do
    if other == item then return true end
  end
  return false
end

-- A load has seen its victim gone: it and its tickets have nothing to wait for there. Other loads with the same victim
-- keep it until they have seen so themselves, which keeps it from coming back under their hands.
local function settle_victim(load, victim)
  load.evicts = without_item(load.evicts, victim)
  put('load', load_key(load.server, load.model), load)
  for _, id in ipairs(ids_on(load.server)) do
    local ticket = get('ticket', id)
    if ticket.model == load.model and has_item(ticket.evicts, victim) then
      ticket.evicts = without_item(ticket.evicts, victim)
      put('ticket', id, ticket)
    end
  end
end

local function unlist(server, victim)
  local seen = get('server:seen', server)
  local before = #seen.residents
  seen.residents = without_model(seen.residents, victim)
  if #seen.residents < before then put_part('seen', server, seen) end
end
