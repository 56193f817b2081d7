-- The version of the protocol that keeps counters and locks in a hash. It comes before the prologue.
local VERSION = '1'
