-- End a wait; a ticket granted meanwhile is given back.
--
-- KEYS  1 root
-- ARGV  4 the waiter's id, 5 why, or ''
-- result: 1, or 0 when it is gone already

register('give_up', function()
  local waiter = get('waiter', ARGV[4])
  if waiter == nil then return finish(0) end
  abandon(waiter, 'given_up', ARGV[5] ~= '' and ARGV[5] or nil)
  return finish(1)
end)
