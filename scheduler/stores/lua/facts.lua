-- What stands on a server, read from the stored documents. Nothing here changes anything.

local ALPHA = 0.2

local function members(name)
  local found = redis.call('SMEMBERS', key(name))
  table.sort(found)
  return found
end

local function load_key(server, model) return server .. '#' .. model end

local function older(a, b)
  if a.started_at ~= b.started_at then return a.started_at < b.started_at end
  return a.id < b.id
end

-- Two names of the same weights are one copy: it is held under its own name, and found under each.
local function copy_name(f, model)
  local resident = f.residents[model]
  return resident and resident.model or model
end

local function is_called(resident, model)
  if resident.model == model then return true end
  for _, alias in ipairs(resident.aliases or {}) do
    if alias == model then return true end
  end
  return false
end

-- Read everything that a claim on this server rests on; `without` is a ticket that is given back in the same step.
local function stand(server, without)
  local f = {server = server, config = get('server:config', server), seen = get('server:seen', server)}
  f.tickets, f.loads, f.residents, f.spent, f.loading, f.held = {}, {}, {}, {}, {}, {}
  local ids = members('on:' .. server)
  fetch('ticket', ids)
  for _, id in ipairs(ids) do
    if id ~= without then f.tickets[#f.tickets + 1] = get('ticket', id) end
  end
  table.sort(f.tickets, older)
  for _, resident in ipairs(f.seen.residents) do
    f.residents[resident.model] = resident
    for _, alias in ipairs(resident.aliases or {}) do f.residents[alias] = resident end
  end
  for _, model in ipairs(members('loads:' .. server)) do
    local load = get('load', load_key(server, model))
    f.loads[#f.loads + 1] = load
    f.loading[model] = load
    for _, victim in ipairs(load.evicts) do f.spent[victim] = true end
  end
  for _, ticket in ipairs(f.tickets) do
    f.held[copy_name(f, ticket.model)] = true
    for _, victim in ipairs(ticket.evicts) do f.spent[victim] = true end
  end
  return f
end

local function is_warm(f, model)
  local resident = f.residents[model]
  return resident ~= nil and not f.spent[resident.model]
end

local function usable_mib(config)
  local total = some(config.total_mib)
  if total == nil then return nil end
  return total - (some(config.reserve_mib) or math.max(2048, math.ceil(total * 12 / 100)))
end

local function resident_elsewhere(model)
  local names = redis.call('HKEYS', key('server:seen'))
  table.sort(names)
  for _, name in ipairs(names) do
    for _, resident in ipairs(get('server:seen', name).residents) do
      if is_called(resident, model) and some(resident.footprint_mib) then return resident.footprint_mib end
    end
  end
end

-- The order of the scheduling rules: here, in a ticket or load here, resident anywhere, known of the model.
local function footprint_mib(f, model)
  local resident = f.residents[model]
  if resident and some(resident.footprint_mib) then return resident.footprint_mib end
  for _, ticket in ipairs(f.tickets) do
    if copy_name(f, ticket.model) == model and some(ticket.footprint_mib) then return ticket.footprint_mib end
  end
  if f.loading[model] then return f.loading[model].footprint_mib end
  return resident_elsewhere(model) or tonumber(redis.call('HGET', key('footprint'), model) or nil)
end

-- Sum what these models take; nil when one of them is of unknown size.
local function sum_mib(f, models)
  local sum = 0
  for model in pairs(models) do
    local size = footprint_mib(f, model)
    if size == nil then return nil end
    sum = sum + size
  end
  return sum
end

-- Name what takes memory beside a new load, once its victims are unloaded: warm residents, loads, and what tickets rest
-- on; each once.
local function holders(f, load, gone)
  local models = {}
  for _, resident in ipairs(f.seen.residents) do
    if not f.spent[resident.model] and not gone[resident.model] then models[resident.model] = true end
  end
  for model in pairs(f.loading) do models[model] = true end
  for model in pairs(f.held) do models[model] = true end
  models[load.model] = nil
  return models
end

local function to_set(list)
  local found = {}
  for _, item in ipairs(list) do found[item] = true end
  return found
end

-- The victims of other loads that must really be gone before this one fits. They become its victims too, so that the
-- other load may fail without leaving both in memory.
local function shared_victims(f, load)
  local own, shared = to_set(load.evicts), {}
  local physical = holders(f, load, own)
  for _, resident in ipairs(f.seen.residents) do
    if not own[resident.model] then physical[resident.model] = true end
  end
  local taken = sum_mib(f, physical)
  local room = taken and usable_mib(f.config) - load.footprint_mib - taken or -math.huge
  local pending = {}
  for model in pairs(f.spent) do
    if f.residents[model] and not own[model] then pending[#pending + 1] = model end
  end
  table.sort(pending)
  for _, victim in ipairs(pending) do
    if room >= 0 then break end
    room = room + (footprint_mib(f, victim) or 0)
    shared[#shared + 1] = victim
  end
  return shared
end

local function counts(ticket, asking) return ticket.state ~= 'planned' or ticket.agent ~= asking.agent end

local function has_slot(f, asking)
  local taken, copy = 0, copy_name(f, asking.model)
  for _, ticket in ipairs(f.tickets) do
    if copy_name(f, ticket.model) == copy and counts(ticket, asking) then taken = taken + 1 end
  end
  return taken < f.config.slots
end

local function is_below_cap(f, asking)
  local cap = some(f.config.max_concurrent)
  if cap == nil then return true end
  local all, background = 0, 0
  for _, ticket in ipairs(f.tickets) do
    if counts(ticket, asking) then
      all = all + 1
      if ticket.priority == 'background' then background = background + 1 end
    end
  end
  if all >= cap then return false end
  return asking.priority ~= 'background' or background < cap - f.config.interactive_reserve
end
