-- Check each change against the stored documents and apply those that hold, in order.
--
-- KEYS  1 root
-- ARGV  4.. one change after another, each by its kind:
--         grant, ticket, load or '', replaced ticket's id or '', plan or '', trace
--         wait, waiter's id, {model, server, action, eta_s, reason}, trace
--         drain, server, drain or ''
--         stand_aside, waiter's id, reason, model, trace
--         left, ticket's id
--         release, ticket's id, what its end teaches of the server ('well', 'blamed', 'neither'), what its caller says as JSON
--         at, the caller's now from here on (several callers may share a step)
-- result: a list with '' or the refusal of each change but `at`; a release says 'released' or 'gone'

local ETA_STEP_S = 1

local function optional(raw)
  if raw == '' then return nil end
  return cjson.decode(raw)
end

local function waiting(id)
  local waiter = get('waiter', id)
  if waiter and not some(waiter.ticket) and not some(waiter.stood_aside) then return waiter end
end

local function load_refusal(f, load, asking)
  local drain = get('drain', f.server)
  if drain and drain.model ~= load.model then return 'draining' end
  -- A victim that is not confirmed gone cannot come back yet: the load that wants it gone would unload the new copy.
  if f.residents[load.model] or f.loading[load.model] or f.spent[load.model] then return 'copy-exists' end
  for _, victim in ipairs(load.evicts) do
    local is_copy = is_warm(f, victim) and copy_name(f, victim) == victim
    if not is_copy or f.held[victim] then return 'victim-busy' end
  end
  local usable = usable_mib(f.config)
  if not f.config.can_load or usable == nil then return 'no-memory' end
  local taken = sum_mib(f, holders(f, load, to_set(load.evicts)))
  if taken == nil or taken + load.footprint_mib > usable then return 'no-memory' end
end

-- Every ticket of a key counts, whatever its state and whether or not the key had a limit when it was given.
local function is_key_full(ticket, replaced)
  local limit = some(ticket.key_limit)
  if ticket.key == '' or limit == nil then return false end
  local held = redis.call('SCARD', key('of_key:' .. ticket.key))
  if replaced and get('ticket', replaced).key == ticket.key then held = held - 1 end
  return held >= limit
end

local function owner_refusal(ticket, replaced, plan)
  if some(ticket.waiter) and not waiting(ticket.waiter) then return 'waiter-gone' end
  if replaced and not exists('ticket', replaced) then return 'ticket-gone' end
  if exists('ticket', ticket.id) then return 'ticket-gone' end -- an id serves once: this grant was made before
  if plan then
    local stored = get('plan', plan.id)
    if stored == nil or (some(stored.ticket) and stored.ticket ~= replaced) then return 'plan-gone' end
  end
  if is_key_full(ticket, replaced) then return 'key-limit' end
end

local function refusal(f, ticket, load)
  if not f.seen.ready or not is_let_in(ticket) then return 'server-closed' end
  if load then
    local why = load_refusal(f, load, ticket)
    if why then return why end
  elseif not is_warm(f, ticket.model) and not f.loading[ticket.model] then
    return 'no-copy'
  end
  if not has_slot(f, ticket) then return 'no-slot' end
  if not is_below_cap(f, ticket) then return 'cap-reached' end
  if is_group_full(f, ticket) then return 'group-full' end
end

local function give_back(replaced, plan)
  local ticket = get('ticket', replaced)
  local owner = some(ticket.plan) and get('plan', ticket.plan)
  drop_ticket(ticket)
  emit_of('released', ticket, {reason = 'replaced'})
  if owner and not (plan and plan.id == owner.id) then drop_plan(owner, 'taken') end
end

local function start_load(f, load, raw, ticket)
  local shared = shared_victims(f, load)
  for _, victim in ipairs(shared) do load.evicts[#load.evicts + 1] = victim end
  if #shared > 0 then raw = nil end
  put('load', load_key(load.server, load.model), load, raw)
  redis.call('SADD', key('loads:' .. load.server), load.model)
  forget_stand(load.server)
  emit_of('load_started', ticket, {footprint_mib = load.footprint_mib, evicts = load.evicts})
end

local function hold_for_plan(plan, raw, ticket)
  if plan.ticket ~= ticket.id then
    plan.ticket = ticket.id
    raw = nil
  end
  put('plan', plan.id, plan, raw)
  local id = intent_of(plan)
  local intent = redis.call('HGET', key('intent'), id)
  if intent then
    drop_intent(id)
    redis.call('HSET', key('held_intent'), id, intent)
  end
  redis.call('ZADD', key('lease:ticket'), exact(CLOCK + LIMITS.plan_limit_s), ticket.id)
  emit_of('planned', ticket)
end

local function hand_to_waiter(ticket, trace)
  local waiter = get('waiter', ticket.waiter)
  waiter.ticket = ticket.id
  put('waiter', waiter.id, waiter)
  reach_tag(waiter.priority, waiter.start_tag)
  end_drain_of(waiter.id, 'granted')
  emit_of('granted', ticket, {trace = trace})
  local plan = some(waiter.plan) and get('plan', waiter.plan)
  if plan then drop_plan(plan, 'taken', ticket.id) end
end

local function deliver(ticket, trace)
  reach_tag(ticket.priority, take_tag(ticket))
  redis.call('ZADD', key('lease:ticket'), exact(CLOCK + LIMITS.ticket_lease_s), ticket.id)
  count_use('use', ticket.model, NOW, 1)
  emit_of('granted', ticket, {trace = trace})
  emit_of('delivered', ticket)
end

local function grant(ticket_raw, load_raw, replaced, plan_raw, trace)
  local ticket, load, plan = cjson.decode(ticket_raw), optional(load_raw), optional(plan_raw)
  if replaced == '' then replaced = nil end
  local why = owner_refusal(ticket, replaced, plan)
  if why then return why end
  if not exists('server:config', ticket.server) then return 'server-gone' end
  local f = stand(ticket.server, replaced)
  why = refusal(f, ticket, load)
  if why then return why end

  if replaced then give_back(replaced, plan) end
  local state = ticket.state
  if state ~= 'planned' then state = is_warm(f, ticket.model) and 'active' or 'loading' end
  if state ~= ticket.state then
    ticket.state = state
    ticket_raw = nil
  end
  put('ticket', ticket.id, ticket, ticket_raw)
  if ticket.key ~= '' then redis.call('SADD', key('of_key:' .. ticket.key), ticket.id) end
  join_stand(ticket)
  begin_trial(ticket)
  if load then start_load(f, load, load_raw, ticket) end
  if plan then hold_for_plan(plan, plan_raw, ticket) end
  if some(ticket.waiter) then hand_to_waiter(ticket, trace) end
  if is_delivered(ticket) then deliver(ticket, trace) end
end

local function eta_moved(before, after)
  before, after = some(before), some(after)
  if before == nil or after == nil then return before ~= after end
  return math.abs(before - after) >= ETA_STEP_S
end

local function wait(id, patch_raw, trace)
  local waiter, patch = waiting(id), cjson.decode(patch_raw)
  if waiter == nil then return 'waiter-gone' end
  local first = waiter.model == ''
  if waiter.model == patch.model and waiter.server == patch.server and waiter.action == patch.action
      and waiter.reason == patch.reason and not eta_moved(waiter.eta_s, patch.eta_s) then
    return nil
  end
  with(waiter, patch)
  put('waiter', id, waiter)
  if first and waiter.model ~= '' then
    emit('waiting', with(call_of_waiter(waiter), {reason = waiter.reason, eta_s = waiter.eta_s, trace = trace}))
  end
end

local function drain(server, raw)
  if raw == '' then
    end_drain(server, 'ended')
    return nil
  end
  local new, old = cjson.decode(raw), get('drain', server)
  if not exists('server:config', server) then return 'server-gone' end
  if some(new.waiter) and not waiting(new.waiter) then return 'waiter-gone' end
  if old and (old.waiter ~= new.waiter or old.model ~= new.model) then return 'draining' end
  if old then return nil end
  put('drain', server, new, raw)
  if some(new.waiter) then
    end_drain_of(new.waiter, 'moved')
    redis.call('HSET', key('drain_of'), new.waiter, server)
  end
  emit('drain_started', {server = server, model = new.model, agent = new.agent, waiter = new.waiter,
    evicts = new.victims, since = new.since})
end

-- A caller whose granted load outlives all patience stands aside too; the load goes on.
local function stand_aside(id, reason, model, trace)
  local waiter = get('waiter', id)
  if waiter == nil or some(waiter.stood_aside) then return 'waiter-gone' end
  local ticket = some(waiter.ticket) and get('ticket', waiter.ticket)
  if ticket then
    if ticket.state ~= 'loading' then return 'waiter-gone' end
    drop_ticket(ticket)
  end
  waiter.ticket, waiter.stood_aside, waiter.model = null, reason, model
  put('waiter', id, waiter)
  end_drain_of(id, 'stood-aside')
  emit('stood_aside', with(call_of_waiter(waiter), {reason = reason, trace = trace}))
end

-- The caller has left and the engine works on: the place stays taken until that ends.
local function left_by_caller(id)
  local ticket = get('ticket', id)
  if ticket == nil then return 'ticket-gone' end
  if some(ticket.left_at) then return nil end
  ticket.left_at = NOW
  put('ticket', id, ticket)
  emit_of('left', ticket)
end

local function release(id, lesson, said)
  local ticket, told = get('ticket', id), cjson.decode(said)
  if ticket == nil then return 'gone' end
  local plan = some(ticket.plan) and get('plan', ticket.plan)
  local waiter = some(ticket.waiter) and get('waiter', ticket.waiter)
  local was_trial = drop_ticket(ticket)
  if waiter then
    waiter.ticket = null
    put('waiter', waiter.id, waiter)
  end
  if is_delivered(ticket) then
    count_use('use', ticket.model, NOW, 0)
    told.active_s = learn(ticket, lesson, told.status, was_trial)
  end
  emit_of('released', ticket, told)
  if plan then drop_plan(plan, 'released') end
  if is_delivered(ticket) and some(told.ambiguity) then doubt(ticket.server, told.ambiguity) end
  return 'released'
end

local KINDS = {grant = {5, grant}, wait = {3, wait}, drain = {2, drain}, stand_aside = {4, stand_aside},
  left = {1, left_by_caller}, release = {3, release}}

register('commit', function()
  local results, at = {}, 4
  while at <= #ARGV do
    if ARGV[at] == 'at' then
      NOW = tonumber(ARGV[at + 1])
      at = at + 2
    else
      local arity, apply = unpack(KINDS[ARGV[at]])
      results[#results + 1] = apply(unpack(ARGV, at + 1, at + arity)) or ''
      at = at + arity + 1
    end
  end
  return finish(results)
end)
