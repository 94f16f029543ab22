-- The begin of the library. Reading and writing documents, deltas and journal, the version.
--
-- KEYS  1 root, km:{name}:layout number; every other key is root .. ':' .. something, so all of them share one hash slot
-- ARGV  1 the ledger's clock in seconds ('' = the server's own), 2 the caller's now ('' = the ledger's clock),
--       3 the limits as JSON; a function's own arguments follow from 4 on
-- Every function returns {version, epoch, deltas ('' = nothing changed), result}.
--
-- The library lives as long as the server: what belongs to one step is made anew where `on_begin` says so, whatever
-- became of the step before.

local register_function = redis.register_function

-- The server looks each global name up twice for a function: what steps use all the time is looked up once.
local function globals() return redis, cjson, cmsgpack, ipairs, pairs, tonumber, unpack, table, string, math end

local redis, cjson, cmsgpack, ipairs, pairs, tonumber, unpack, table, string, math

local KEYS, ARGV, root, CLOCK, NOW, LIMITS, null
local limits_text

local beginnings = {}

local function on_begin(start) beginnings[#beginnings + 1] = start end

local function read_clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

on_begin(function()
  root, null = KEYS[1], cjson.null -- which is not there yet while the library is loaded
  CLOCK = read_clock()
  NOW = ARGV[2] ~= '' and tonumber(ARGV[2]) or CLOCK
  if limits_text ~= ARGV[3] then LIMITS, limits_text = cjson.decode(ARGV[3]), ARGV[3] end
end)

local function register(name, step)
  register_function(PREFIX .. name, function(keys, args)
    KEYS, ARGV = keys, args
    if redis == nil then redis, cjson, cmsgpack, ipairs, pairs, tonumber, unpack, table, string, math = globals() end
    for i = 1, #beginnings do beginnings[i]() end
    return step()
  end)
end

local function key(name) return root .. ':' .. name end

local function some(value)
  if value == null then return nil end
  return value
end

-- Numbers kept outside documents are written in full: cjson would keep 14 digits only.
local function exact(number) return string.format('%.17g', number) end

local events, touched, order, known, texts
local left -- where removed tickets stood

on_begin(function() events, touched, order, known, texts, left = {}, {}, {}, {}, {}, {} end)

local function table_of(tables, name)
  local rows = tables[name]
  if rows == nil then rows = {}; tables[name] = rows end
  return rows
end

local function touch(name, id)
  local rows = table_of(touched, name)
  if rows[id] then return end
  rows[id] = true
  order[#order + 1] = {name, id}
end

local function keep(name, id, raw)
  table_of(known, name)[id] = raw and cjson.decode(raw) or false
  table_of(texts, name)[id] = raw or nil
end

-- Give a document's text: as it was stored, as its writer encoded it, or encoded now.
local function text_of(name, id)
  local rows = table_of(texts, name)
  if rows[id] == nil then rows[id] = cjson.encode(known[name][id]) end
  return rows[id]
end

-- Give a decoded document or nil. The same table comes back for the whole step: write it back with put().
local function get(name, id)
  local rows = known[name]
  if rows == nil or rows[id] == nil then
    keep(name, id, redis.call('HGET', key(name), id))
    rows = known[name]
  end
  return rows[id] or nil
end

local function exists(name, id) return get(name, id) ~= nil end

-- Write a document. It is stored once, at the end of the step, however often it is written. `raw` is the document as its
-- writer encoded it; without it the decoded one is encoded.
local function put(name, id, doc, raw)
  table_of(known, name)[id] = doc
  table_of(texts, name)[id] = raw
  touch(name, id)
end

-- The text of a removed document stays at hand, for the event that tells its end.
local function remove(name, id)
  local doc = get(name, id)
  if doc then
    text_of(name, id)
    if name == 'ticket' then left[id] = doc.server end
  end
  known[name][id] = false
  touch(name, id)
end

-- A server's document lies in four parts, so that a probe never writes its configuration anew.
local function put_part(part, server, doc, raw) put('server:' .. part, server, doc, raw) end

local function emit(kind, event)
  event.type = kind
  events[#events + 1] = cjson.encode(event)
end

-- Tell what happened to a ticket: the reader takes the call's fields out of its document.
local function emit_of(kind, ticket, more)
  events[#events + 1] = '{"type":"' .. kind .. '","of":' .. text_of('ticket', ticket.id)
    .. (more and ',"with":' .. cjson.encode(more) or '') .. '}'
end

local function delta(name, id, raw)
  return '["' .. name .. '",' .. cjson.encode(id) .. ',' .. (raw or 'null') .. ']'
end

-- Give the version, and the epoch: which life of the server counted it.
local function present()
  local found = redis.call('HMGET', key('meta'), 'version', 'epoch')
  if not found[2] then
    local time = redis.call('TIME')
    found[2] = time[1] .. '.' .. time[2]
    redis.call('HSET', key('meta'), 'epoch', found[2])
  end
  return tonumber(found[1] or 0), found[2]
end

-- What a claim counts of a ticket: one text for all that count alike, so that nobody decodes the documents of all
-- tickets on a server for it. Whose a place is matters only where it is held ahead of a call.
local function pack_place(ticket)
  local agent = ticket.state == 'planned' and ticket.agent or ''
  return cmsgpack.pack({ticket.model, ticket.state, ticket.priority, agent, ticket.evicts})
end

-- A ticket that was taken back may be granted anew in the same step, on another server.
local function store_place(id, doc)
  local was, is = left[id], doc and doc.server
  if was and was ~= is then redis.call('HDEL', key('on:' .. was), id) end
  if is then redis.call('HSET', key('on:' .. is), id, pack_place(doc)) end
end

local function in_parts(command, name, fields)
  for at = 1, #fields, 1000 do
    redis.call(command, key(name), unpack(fields, at, math.min(at + 999, #fields)))
  end
end

-- Store what was written, a call for each table, and give its deltas. A part of a server that goes with the server has
-- no delta of its own.
local function store()
  local rows, written, gone = {}, {}, {}
  for _, place in ipairs(order) do
    local name, id = place[1], place[2]
    local doc = known[name][id]
    if name == 'ticket' then store_place(id, doc) end
    if doc then
      local raw = text_of(name, id)
      local fields = table_of(written, name)
      fields[#fields + 1], fields[#fields + 2] = id, raw
      rows[#rows + 1] = delta(name, id, raw)
    else
      local fields = table_of(gone, name)
      fields[#fields + 1] = id
      if string.sub(name, 1, 7) ~= 'server:' then rows[#rows + 1] = delta(name, id) end
    end
  end
  for name, fields in pairs(written) do in_parts('HSET', name, fields) end
  for name, fields in pairs(gone) do in_parts('HDEL', name, fields) end
  return '[' .. table.concat(rows, ',') .. ']'
end

-- What else a step writes at its end.
local endings = {}

local function at_end(write) endings[#endings + 1] = write end

-- End the step: when a document changed, count the version, and write its deltas, which every process follows, and the
-- journal, which history alone reads: it is thrice as long. An entry is one text of three lines, for JSON has no raw line
-- ends: version, epoch, deltas; in the journal version, time, events.
local function finish(result)
  for _, write in ipairs(endings) do write() end
  local number, epoch = present()
  if #order == 0 then return {number, epoch, '', result or false} end
  local deltas = store()
  number = number + 1
  redis.call('HSET', key('meta'), 'version', number)
  redis.call('XADD', key('deltas'), 'MAXLEN', '~', LIMITS.journal, '*', 'd', number .. '\n' .. epoch .. '\n' .. deltas)
  redis.call('XADD', key('journal'), 'MAXLEN', '~', LIMITS.journal, '*', 'j',
    number .. '\n' .. exact(NOW) .. '\n[' .. table.concat(events, ',') .. ']')
  return {number, epoch, deltas, result or false}
end
