-- The version of the protocol that keeps rows in a hash. It comes before the prologue.
local VERSION = '2'
