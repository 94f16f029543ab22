-- Tell when the calls whose callers say so had a byte from their engines last.
--
-- KEYS  1 root
-- ARGV  none
-- result: ticket and time, one after another

register('progress', function()
  return finish(redis.call('HGETALL', key('progress')))
end)
