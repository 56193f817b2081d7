-- Takes back the last positions of the last grant; only of that exact grant, and not after a loss.
-- Implements the same rules as lib/counters/counter-rules.ts.
-- ARGV     4 grant, 5 its first position, 6 the number of unused positions
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
