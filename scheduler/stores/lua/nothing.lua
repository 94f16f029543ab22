-- Do nothing: the least that any step takes.
--
-- KEYS  1 root
-- ARGV  none
-- result: 1, alone

register_function(PREFIX .. 'nothing', function() return 1 end)
