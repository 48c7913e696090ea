-- Load for benchmarks/http.py: each free connection hands in a lease if one is waiting, else claims one. With
-- MODE=beat one connection of its own only sends heartbeats. (wrk; one thread.)
local mode, size = os.getenv("MODE") or "pairs", tonumber(os.getenv("SIZE") or "1")
local output = os.getenv("OUTPUT")
local task, token = os.getenv("TASK"), os.getenv("TOKEN")
local held, n, wrong = {}, 0, 0
local headers = { ["content-type"] = "application/json", ["authorization"] = "Bearer " .. os.getenv("TESSERA_KEY") }

local function post(path, body, key)
  headers["idempotency-key"] = key
  return wrk.format("POST", path, headers, body)
end

local function submit(lease)
  return string.format('{"task_id":"%s","fencing_token":%s,"output":%s', lease[1], lease[2], output)
end

local function hand_in()
  if size == 1 then
    local lease = table.remove(held)
    return post("/v1/tasks/submit", submit(lease) .. "}", lease[1] .. ":" .. lease[2])
  end
  local all = {}
  for i = 1, math.min(size, #held) do
    local lease = table.remove(held)
    all[i] = submit(lease) .. string.format(',"idempotency_key":"%s:%s"}', lease[1], lease[2])
  end
  return post("/v1/tasks/submit-batch", '{"submits":[' .. table.concat(all, ",") .. "]}")
end

function request()
  n = n + 1
  if mode == "empty" then return wrk.format("GET", "/healthz", headers) end
  if mode == "beat" then
    return post("/v1/tasks/heartbeat", string.format('{"task_id":"%s","fencing_token":%s}', task, token))
  end
  if #held > 0 and mode ~= "claims" then return hand_in() end
  if size == 1 then return post("/v1/tasks/claim", '{"queue":"q","worker":"w"}') end
  return post("/v1/tasks/claim-batch", string.format('{"queue":"q","worker":"w","limit":%d}', size))
end

function response(status, _, body)
  if status >= 300 then
    wrong = wrong + 1
    if wrong == 1 then io.stderr:write("answered ", status, ": ", body, "\n") end
  elseif mode == "pairs" then
    for id, number in body:gmatch('"task_id":"([^"]+)","queue":.-"fencing_token":(%d+)') do
      held[#held + 1] = { id, number }
    end
  end
end

function done(summary, latency)
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(95), latency:percentile(99)))
end
