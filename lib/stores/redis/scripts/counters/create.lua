-- Creates a counter for an operator; an existing one is never changed.
-- Implements the same rules as lib/counters/counter-rules.ts.
-- ARGV     4 form, 5 its first position
-- Answer   'created' | 'exists' | another version
local form, first = ARGV[4], ARGV[5]
if doubt then return doubt end
if readCounter() then return { 'exists' } end
local row = blank(form, first, era)
-- A counter that is lost at this moment would be created again from the same position.
row.ready = now + lossWindow
keep(row)
return { 'created' }
