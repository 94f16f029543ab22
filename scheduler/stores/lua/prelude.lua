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

local function epoch()
  local found = redis.call('HGET', key('meta'), 'epoch')
  if found then return found end
  local time = redis.call('TIME')
  found = time[1] .. '.' .. time[2]
  redis.call('HSET', key('meta'), 'epoch', found)
  return found
end

local function version() return tonumber(redis.call('HGET', key('meta'), 'version') or 0) end

-- End the step: when a document changed, count the version and write the journal.
local function finish(result)
  if #order == 0 then return {version(), epoch(), '', result or false} end
  local rows = {}
  for i, row in ipairs(order) do rows[i] = delta(row[1], row[2], changed[row[3]]) end
  local deltas = '[' .. table.concat(rows, ',') .. ']'
  local era, number = epoch(), redis.call('HINCRBY', key('meta'), 'version', 1)
  redis.call('XADD', key('journal'), 'MAXLEN', '~', LIMITS.journal, '*', 'v', number, 'e', era, 'at', exact(NOW),
    'd', deltas, 'ev', '[' .. table.concat(events, ',') .. ']')
  return {number, era, deltas, result or false}
end
