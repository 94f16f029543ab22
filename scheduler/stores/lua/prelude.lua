-- Put before every script. Reading and writing documents, the journal, the version.
--
-- KEYS  1 root, km:{name}; every other key is root .. ':' .. something, so all of them share one hash slot
-- ARGV  1 the ledger's clock in seconds ('' = the server's own), 2 the caller's now ('' = the ledger's clock),
--       3 the limits as JSON; a script's own arguments follow from 4 on
-- Every script returns {version, epoch, deltas ('' = nothing changed), result}.

local root, null = KEYS[1], cjson.null

local function key(name) return root .. ':' .. name end

local function read_clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local CLOCK = read_clock()
local NOW = ARGV[2] ~= '' and tonumber(ARGV[2]) or CLOCK
local LIMITS = cjson.decode(ARGV[3])

local function some(value)
  if value == null then return nil end
  return value
end

-- Numbers kept outside documents are written in full: cjson would keep 14 digits only.
local function exact(number) return string.format('%.17g', number) end

local events, changed, order = {}, {}, {}

local function emit(kind, event)
  event.type = kind
  events[#events + 1] = cjson.encode(event)
end

local function mark(name, id, raw)
  local place = name .. ' ' .. id
  if changed[place] == nil then order[#order + 1] = {name, id, place} end
  changed[place] = raw
end

local known = {}

-- Give a decoded document or nil. The same table comes back for the whole script: write it back with put().
local function get(name, id)
  local rows = known[name]
  if rows == nil then rows = {}; known[name] = rows end
  if rows[id] == nil then
    local raw = redis.call('HGET', key(name), id)
    rows[id] = raw and cjson.decode(raw) or false
  end
  return rows[id] or nil
end

-- Read many documents at once, for get() to find.
local function fetch(name, ids)
  local rows, missing = known[name] or {}, {}
  known[name] = rows
  for _, id in ipairs(ids) do
    if rows[id] == nil then missing[#missing + 1] = id end
  end
  if #missing == 0 then return end
  local found = redis.call('HMGET', key(name), unpack(missing))
  for i, id in ipairs(missing) do rows[id] = found[i] and cjson.decode(found[i]) or false end
end

local function exists(name, id) return get(name, id) ~= nil end

-- `raw` is the document as its writer encoded it; without it the decoded one is encoded again.
local function put(name, id, doc, raw)
  raw = raw or cjson.encode(doc)
  known[name] = known[name] or {}
  known[name][id] = doc
  redis.call('HSET', key(name), id, raw)
  mark(name, id, raw)
end

local function remove(name, id)
  known[name] = known[name] or {}
  known[name][id] = false
  redis.call('HDEL', key(name), id)
  mark(name, id, false)
end

-- A server's document lies in three parts, so that a probe never writes its configuration anew.
local function put_part(part, server, doc, raw)
  local name = 'server:' .. part
  raw = raw or cjson.encode(doc)
  known[name] = known[name] or {}
  known[name][server] = doc
  redis.call('HSET', key(name), server, raw)
  mark('server', server, true)
end

local function server_raw(server)
  return '{"config":' .. redis.call('HGET', key('server:config'), server)
    .. ',"seen":' .. redis.call('HGET', key('server:seen'), server)
    .. ',"learned":' .. redis.call('HGET', key('server:learned'), server) .. '}'
end

local function delta(name, id, raw)
  if raw == true then raw = server_raw(id) end
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

-- End the step: when a document changed, count the version and write the journal. An entry is one text of five lines:
-- version, epoch, time, deltas, events; JSON has no raw line ends.
local function finish(result)
  local number, epoch = present()
  if #order == 0 then return {number, epoch, '', result or false} end
  local rows = {}
  for i, row in ipairs(order) do rows[i] = delta(row[1], row[2], changed[row[3]]) end
  local deltas = '[' .. table.concat(rows, ',') .. ']'
  number = number + 1
  redis.call('HSET', key('meta'), 'version', number)
  redis.call('XADD', key('journal'), 'MAXLEN', '~', LIMITS.journal, '*', 'j',
    number .. '\n' .. epoch .. '\n' .. exact(NOW) .. '\n' .. deltas .. '\n[' .. table.concat(events, ',') .. ']')
  return {number, epoch, deltas, result or false}
end
