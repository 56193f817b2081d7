-- The version of the protocol of counters and locks. It comes before the prologue.
local VERSION = '1'
