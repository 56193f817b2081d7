-- Creates a counter for an operator; one that is there is never changed.
-- It says what the counters room says in counter-rules.ts.
-- ARGV     4 form, 5 its first position
-- Answer   'created' | 'exists' | another version
local form, first = ARGV[4], ARGV[5]
if doubt then return doubt end
if readCounter() then return { 'exists' } end
local row = blank(form, first, era)
-- It would be created again from the same position if it were lost.
row.ready = now + lossWindow
keep(row)
return { 'created' }
