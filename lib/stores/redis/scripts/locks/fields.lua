-- The header of all locks, the lock, and its note.
-- ARGV     1 lock
local lockField, noteField = 'l:' .. ARGV[1], 'n:' .. ARGV[1]
local fields = { 'longest', 'proven', 'provenAt', 'ready', 'forgotten', lockField, noteField }
