-- Store the intents and still empty plans of selected agents, and count it for every model that they name.
--
-- KEYS  1 root
-- ARGV  4 the number of intents, then each intent, then each plan
-- result: nothing

register('publish', function()
  local count = tonumber(ARGV[4])
  for i = 5, 4 + count do
    local intent = cjson.decode(ARGV[i])
    local id = intent.agent .. '#' .. intent.thread
    put('intent', id, intent, ARGV[i])
    redis.call('ZADD', key('age:intent'), exact(intent.at), id)
    for _, model in ipairs(intent.models) do count_use('selected', model, intent.at, 1) end
  end
  for i = 5 + count, #ARGV do
    local plan = cjson.decode(ARGV[i])
    put('plan', plan.id, plan, ARGV[i])
    redis.call('ZADD', key('age:plan'), exact(plan.created_at), plan.id)
  end
  return finish()
end)
