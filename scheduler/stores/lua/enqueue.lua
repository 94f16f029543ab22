-- Add a waiter to the line, with its fair-queueing tag.
--
-- KEYS  1 root
-- ARGV  4 the waiter
-- result: {the waiter as stored, the version before}; 'full', or 'full-of-own' when its own key or agent has enough there

register('enqueue', function()
  local waiter = cjson.decode(ARGV[4])
  local before = present()
  local stored = redis.call('HGET', key('waiter'), waiter.id)
  if stored then return finish({stored, before}) end
  if redis.call('HLEN', key('waiter')) >= LIMITS.max_waiters then return finish('full') end
  local owner = owner_of(waiter)
  if redis.call('SCARD', key('line_of:' .. owner)) >= LIMITS.max_waiters_per_agent then return finish('full-of-own') end

  waiter.start_tag = take_tag(waiter)
  put('waiter', waiter.id, waiter)
  redis.call('SADD', key('line_of:' .. owner), waiter.id)
  redis.call('ZADD', key('lease:waiter'), exact(CLOCK + LIMITS.waiter_lease_s), waiter.id)
  local models = {}
  for i, candidate in ipairs(waiter.candidates) do models[i] = candidate.model end
  emit('enqueued', with(call_of_waiter(waiter), {candidates = models, limit_at = waiter.limit_at}))
  return finish({text_of('waiter', waiter.id), before})
end)
