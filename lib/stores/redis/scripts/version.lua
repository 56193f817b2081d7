-- The protocol version of counters and locks. It comes before the prologue.
local VERSION = '1'
