-- The protocol version of rows in a hash. It comes before the prologue.
local VERSION = '2'
