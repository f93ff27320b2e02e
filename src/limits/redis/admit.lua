-- Admits a batch of requests, one after the other, as one server would in its memory.
--
-- KEYS: the clock, then an account and a key for each request.
-- ARGV: eight random bytes, the epoch if the clock is missing; then 16 bytes a request:
--   its limits a minute and a day (u32), and the key's unbanned_at_ms (f64).
-- Answer: the counting time (f64), the epoch, the batch's number (f64); then 17 bytes a
--   request: the kind of the verdict (u8), limit, remaining (u32), time to the reset (f64).
--
-- Times are whole microseconds of the counting time: the server's wall clock and an offset,
-- which grows when that clock steps back. What is stored keeps the names of the Rust code:
--   account: minute.closes_at, minute.requests, day.closes_at, day.requests
--   key: closes_at, count, ban_seconds, banned_until, unbanned_at_ms
local MINUTE, DAY = 60e6, 86400e6
local FIRST_BAN_SECONDS, MAX_BAN_SECONDS = 300, 3600
local ADMITTED, MINUTE_EXHAUSTED, DAY_EXHAUSTED, BANNED, BAN_BEGINS = 0, 1, 2, 3, 4
local KEEPS = false
-- Of another length a value is none of ours, and counts as missing.
local CLOCK_LENGTH, ACCOUNT_LENGTH, KEY_LENGTH = 32, 24, 32

local stored = redis.call('MGET', unpack(KEYS))
local time = redis.call('TIME')
local wall = time[1] * 1e6 + time[2]
local last, offset, epoch, batch = 0, 0, ARGV[1], 0
if stored[1] and #stored[1] == CLOCK_LENGTH then
  last, offset, epoch, batch = struct.unpack('<ddc8d', stored[1])
end
local now = wall + offset
if now < last then
  offset, now = offset + last - now, last
end
batch = batch + 1

local values, expiries = {}, {}
for i = 2, #KEYS do values[KEYS[i]] = stored[i] end

local function windows(account)
  local value = values[account]
  if not value or #value ~= ACCOUNT_LENGTH then return 0, 0, 0, 0 end
  local minute_closes, minute_requests, day_closes, day_requests = struct.unpack('<dIdI', value)
  -- The clock may have been lost without the windows.
  return math.min(minute_closes, now + MINUTE), minute_requests,
    math.min(day_closes, now + DAY), day_requests
end

local function strikes(key)
  local value = values[key]
  if not value or #value ~= KEY_LENGTH then return 0, 0, 0, 0, 0 end
  local closes, count, seconds, banned_until, unbanned = struct.unpack('<dIIdd', value)
  return math.min(closes, now + MINUTE), count, seconds,
    math.min(banned_until, now + seconds * 1e6), unbanned
end

-- Counts a request in both windows, or says which is exhausted.
local function admit(account, per_minute, per_day)
  local minute_closes, minute_requests, day_closes, day_requests = windows(account)
  local opens_day = now >= day_closes
  if now >= minute_closes then minute_closes, minute_requests = now + MINUTE, 0 end
  if opens_day then day_closes, day_requests = now + DAY, 0 end
  local minute_resets = per_minute == 0 and MINUTE or minute_closes - now
  local day_resets = per_day == 0 and DAY or day_closes - now
  local minute_full, day_full = minute_requests >= per_minute, day_requests >= per_day
  if day_full and not (minute_full and minute_resets > day_resets) then
    return DAY_EXHAUSTED, per_day, 0, day_resets
  end
  if minute_full then return MINUTE_EXHAUSTED, per_minute, 0, minute_resets end
  minute_requests, day_requests = minute_requests + 1, day_requests + 1
  values[account] =
    struct.pack('<dIdI', minute_closes, minute_requests, day_closes, day_requests)
  -- The minute may close after the day.
  if opens_day then expiries[account] = day_closes + MINUTE
  elseif expiries[account] == nil then expiries[account] = KEEPS end
  local minute_left, day_left = per_minute - minute_requests, per_day - day_requests
  if day_left < minute_left or (day_left == minute_left and day_resets > minute_resets) then
    return ADMITTED, per_day, day_left, day_resets
  end
  return ADMITTED, per_minute, minute_left, minute_resets
end

-- Counts a 429; the length of the ban in seconds if it begins one.
local function strike(key, per_minute, unbanned_at)
  local closes, count, seconds, banned_until, unbanned = strikes(key)
  local begins = false
  if unbanned < unbanned_at then seconds, unbanned = 0, unbanned_at end
  if now >= closes then
    closes, count = now + MINUTE, 0
  else
    count = count + 1
    begins = count >= per_minute
  end
  if begins then
    local is_forgiven = seconds == 0 or now >= banned_until + DAY
    seconds = is_forgiven and FIRST_BAN_SECONDS or math.min(seconds * 2, MAX_BAN_SECONDS)
    banned_until, closes, count = now + seconds * 1e6, now, 0
  end
  values[key] = struct.pack('<dIIdd', closes, count, seconds, banned_until, unbanned)
  expiries[key] = math.max(closes, seconds > 0 and banned_until + DAY or 0)
  return begins and seconds
end

local function decide(account, key, per_minute, per_day, unbanned_at)
  -- The operator chose a limit of 0; the client gets no strikes for it.
  local is_shut = per_minute == 0 or per_day == 0
  if not is_shut then
    local _, _, seconds, banned_until, unbanned = strikes(key)
    if seconds > 0 and now < banned_until and unbanned >= unbanned_at then
      return BANNED, per_minute, 0, banned_until - now
    end
  end
  local kind, limit, remaining, resets = admit(account, per_minute, per_day)
  if kind ~= ADMITTED and not is_shut then
    local seconds = strike(key, per_minute, unbanned_at)
    if seconds then return BAN_BEGINS, per_minute, 0, seconds * 1e6 end
  end
  return kind, limit, remaining, resets
end

local answers, position = {}, 1
for i = 2, #KEYS, 2 do
  local per_minute, per_day, unbanned_at
  per_minute, per_day, unbanned_at, position = struct.unpack('<IId', ARGV[2], position)
  answers[i / 2] =
    struct.pack('<BIId', decide(KEYS[i], KEYS[i + 1], per_minute, per_day, unbanned_at))
end

-- Written last: an error before has counted nothing.
redis.call('SET', KEYS[1], struct.pack('<ddc8d', now, offset, epoch, batch))
for name, expiry in pairs(expiries) do
  if expiry == KEEPS then
    redis.call('SET', name, values[name], 'KEEPTTL')
  else
    local at = string.format('%.0f', math.ceil((expiry - offset) / 1000))
    redis.call('SET', name, values[name], 'PXAT', at)
  end
end
return struct.pack('<dc8d', now, epoch, batch) .. table.concat(answers)
