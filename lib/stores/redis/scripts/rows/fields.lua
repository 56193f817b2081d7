-- A write of rows reads them one by one.
local fields = {}
