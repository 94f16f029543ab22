-- Give back a plan's ticket and forget plan and intent.
--
-- KEYS  1 root
-- ARGV  4 the plan's id
-- result: 1, or 0 when it is gone already

register('drop_plan', function()
  local plan = get('plan', ARGV[4])
  if plan == nil then return finish(0) end
  drop_plan(plan, 'dropped')
  return finish(1)
end)
