-- Numbers up to 2^63 are decimal text here, since Lua's numbers are exact only below 2^53. Larger
-- ones are split at the ninth digit from the right, so both halves are exact.
local POSITION_MAX, EXACT_END = '9223372036854775807', 2 ^ 53

local function halves(number)
  return tonumber(string.sub(number, 1, -10)) or 0, tonumber(string.sub(number, -9))
end

-- The text has no leading zeros, so a longer text is a larger number.
local function joined(high, low)
  local carry = math.floor(low / 1e9)
  high, low = high + carry, low - carry * 1e9
  if high == 0 then return text(low) end
  return text(high) .. string.format('%09.0f', low)
end

local function sum(a, b)
  if a + b < EXACT_END then return text(a + b) end
  local aHigh, aLow = halves(a)
  local bHigh, bLow = halves(b)
  return joined(aHigh + bHigh, aLow + bLow)
end

-- The first number must be the larger.
local function difference(a, b)
  if tonumber(a) < EXACT_END then return text(a - b) end
  local aHigh, aLow = halves(a)
  local bHigh, bLow = halves(b)
  if aLow < bLow then aHigh, aLow = aHigh - 1, aLow + 1e9 end
  return joined(aHigh - bHigh, aLow - bLow)
end

local function isLess(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function least(a, b) return isLess(b, a) and b or a end
local function greatest(a, b) return isLess(a, b) and b or a end

local function half(number)
  if tonumber(number) < EXACT_END then return text(math.floor(number / 2)) end
  local high, low = halves(number)
  return joined(math.floor(high / 2), math.floor((high % 2 * 1e9 + low) / 2))
end

-- Returns the position of a time: ms below 2^43, times up to 2^22 per ms.
local function positionAt(ms, perMs)
  if ms * perMs < EXACT_END then return text(ms * perMs) end
  local high = math.floor(ms / 1e6) * perMs
  local low = (ms % 1e6) * perMs
  local carry = math.floor(low / 1e6)
  return sum(text(high + carry) .. '000000', text(low - carry * 1e6))
end

-- Returns the time of any position: a quotient, exact below 2^53.
local function timeAt(position, perMs)
  local high, low = halves(position)
  return math.floor(high / perMs) * 1e9 + math.floor((high % perMs * 1e9 + low) / perMs)
end
