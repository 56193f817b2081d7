-- Takes back the end of the last grant; only of that very grant, and not after a loss.
-- It says the same as counter-rules.ts in the room of counters.
-- ARGV     4 grant, 5 where it begins, 6 how many of its positions were not used
-- Answer   'taken back' | 'not taken back' | another version
local grant, first, unused = ARGV[4], ARGV[5], ARGV[6]

local row = readCounter()
local isLast = row and row.grant == grant and row.era == era
  and string.sub(row.form, 1, 6) == 'dense '
if not isLast or isLess(unused, '1') or isLess(difference(row.next, first), unused) then
  return { 'not taken back' }
end
row.next, row.grant = difference(row.next, unused), ''
keep(row)
return { 'taken back' }
