-- The fields of a counter.
-- ARGV     1 counter
local nextField, restField = 'n:' .. ARGV[1], 'c:' .. ARGV[1]
local fields = { nextField, restField }
