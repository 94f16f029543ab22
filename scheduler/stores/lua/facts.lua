-- What stands on a server, for claims. Read once for each server, then kept up with what the step does.

local stands

local function older(a, b)
  if a.started_at ~= b.started_at then return a.started_at < b.started_at end
  return a.id < b.id
end

-- Two names of the same weights are one copy: it is held under its own name, and found under each.
local function copy_name(f, model)
  local resident = f.residents[model]
  return resident and resident.model or model
end

local function count(f, field, name, more)
  local number = (f[field][name] or 0) + more
  f[field][name] = number ~= 0 and number or nil
end

local function unpack_place(raw)
  local place = cmsgpack.unpack(raw)
  return {model = place[1], state = place[2], priority = place[3], agent = place[4], evicts = place[5]}
end

local function is_running(ticket) return ticket.state ~= 'planned' end

-- Count so many more places that are alike.
local function add_places(f, raw, more)
  local place = unpack_place(raw)
  local copy = copy_name(f, place.model)
  count(f, 'held', copy, more)
  if is_running(place) then
    count(f, 'running', copy, more)
    f.all = f.all + more
    if place.priority == 'background' then f.background = f.background + more end
  else
    count(f, 'planned', raw, more)
  end
  for _, victim in ipairs(place.evicts) do f.spent[victim] = true end
end

local function read_stand(server, without)
  local f = {server = server, config = get('server:config', server), seen = get('server:seen', server),
    without = without, residents = {}, spent = {}, loading = {}, held = {}, running = {}, planned = {}, all = 0,
    background = 0}
  for _, resident in ipairs(f.seen.residents) do
    f.residents[resident.model] = resident
    for _, alias in ipairs(resident.aliases or {}) do f.residents[alias] = resident end
  end
  for _, model in ipairs(members('loads:' .. server)) do
    local load = get('load', load_key(server, model))
    f.loading[model] = load
    for _, victim in ipairs(load.evicts) do f.spent[victim] = true end
  end
  local numbers = {}
  for id, raw in pairs(places_on(server)) do
    if id ~= without then numbers[raw] = (numbers[raw] or 0) + 1 end
  end
  for raw, number in pairs(numbers) do add_places(f, raw, number) end
  return f
end

-- Give everything that a claim on this server rests on; `without` is a ticket that is given back in the same step.
local function stand(server, without)
  if without then return read_stand(server, without) end
  stands[server] = stands[server] or read_stand(server)
  return stands[server]
end

-- What stands on all servers of a resource group: how many places in all, and how many of each text. Read once for each
-- group that a claim of the step asks about, then kept up; where no claim asks, nothing is looked up for it.
local crowds

on_begin(function() stands, crowds = {}, {} end)

local function read_crowd(group, without)
  local crowd = {all = 0, places = {}}
  for _, server in ipairs(members('group:' .. group)) do
    for id, raw in pairs(places_on(server)) do
      if id ~= without then
        crowd.all = crowd.all + 1
        count(crowd, 'places', raw, 1)
      end
    end
  end
  return crowd
end

local function crowd_of(group, without)
  if without then return read_crowd(group, without) end
  crowds[group] = crowds[group] or read_crowd(group)
  return crowds[group]
end

local function group_of(server)
  local config = get('server:config', server)
  local group = config and some(config.resource_group)
  return group and group.name
end

local function add_to_crowd(ticket, more)
  if next(crowds) == nil then return end
  local group = group_of(ticket.server)
  local crowd = group and crowds[group]
  if crowd then
    crowd.all = crowd.all + more
    count(crowd, 'places', pack_place(ticket), more)
  end
end

local function join_stand(ticket)
  local f = stands[ticket.server]
  if f then add_places(f, pack_place(ticket), 1) end
  add_to_crowd(ticket, 1)
end

-- What a ticket with victims kept from counting, others may do too: that is read anew.
on_drop(function(ticket)
  local f = stands[ticket.server]
  if f and #ticket.evicts == 0 then add_places(f, pack_place(ticket), -1) else stands[ticket.server] = nil end
  add_to_crowd(ticket, -1)
end)

local function forget_stand(server) stands[server] = nil end

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

-- Give the size that the oldest ticket of a model says.
local function size_in_tickets(f, model)
  local oldest
  for _, id in ipairs(ids_on(f.server)) do
    local ticket = get('ticket', id)
    local says = id ~= f.without and copy_name(f, ticket.model) == model and some(ticket.footprint_mib)
    if says and (oldest == nil or older(ticket, oldest)) then oldest = ticket end
  end
  return oldest and oldest.footprint_mib
end

-- The order of the scheduling rules: here, in a ticket or load here, resident anywhere, known of the model.
local function footprint_mib(f, model)
  local resident = f.residents[model]
  if resident and some(resident.footprint_mib) then return resident.footprint_mib end
  local of_ticket = size_in_tickets(f, model)
  if of_ticket then return of_ticket end
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

local function has_slot(f, asking)
  local copy = copy_name(f, asking.model)
  local taken = f.running[copy] or 0
  for raw, number in pairs(f.planned) do
    local place = unpack_place(raw)
    if place.agent ~= asking.agent and copy_name(f, place.model) == copy then taken = taken + number end
  end
  return taken < f.config.slots
end

local function is_below_cap(f, asking)
  local cap = some(f.config.max_concurrent)
  if cap == nil then return true end
  local all, background = f.all, f.background
  for raw, number in pairs(f.planned) do
    local place = unpack_place(raw)
    if place.agent ~= asking.agent then
      all = all + number
      if place.priority == 'background' then background = background + number end
    end
  end
  if all >= cap then return false end
  return asking.priority ~= 'background' or background < cap - f.config.interactive_reserve
end

-- Places held for the asking agent are lent to it here too, wherever in the group.
local function is_group_full(f, asking)
  local group = some(f.config.resource_group)
  if group == nil then return false end
  local crowd = crowd_of(group.name, f.without)
  local taken = crowd.all
  if taken < group.max_concurrent then return false end
  for raw, number in pairs(crowd.places) do
    local place = unpack_place(raw)
    if not is_running(place) and place.agent == asking.agent then taken = taken - number end
  end
  return taken >= group.max_concurrent
end
