-- Take the lease on driving a load, or keep it.
--
-- KEYS  1 root
-- ARGV  4 the server, 5 the model, 6 the runner, 7 'begin' or 'renew'
-- result: the load, or '' when it is gone or somebody else drives it

register('load_begin', function()
  local id, runner = load_key(ARGV[4], ARGV[5]), ARGV[6]
  local load = redis.call('HGET', key('load'), id)
  if not load then return finish('') end
  local holder = redis.call('HGET', key('runner'), id)
  if ARGV[7] == 'renew' then
    if holder ~= runner then return finish('') end
  else
    local ends = tonumber(redis.call('ZSCORE', key('lease:runner'), id) or 0)
    if holder and holder ~= runner and ends > CLOCK then return finish('') end
    redis.call('HSET', key('runner'), id, runner)
    set_barrier(ARGV[4])
  end
  redis.call('ZADD', key('lease:runner'), exact(CLOCK + LIMITS.runner_lease_s), id)
  return finish(load)
end)
