-- Sends the requests of a file in turn, one per line: method, path, idempotency key, body, separated by tabs; then begins again.
-- wrk -s wrk.lua URL -- FILE TOKEN; prints one line of JSON at the end.
local requests, at = {}, 0

function init(args)
    local headers = { ["Accept"] = "application/json" }
    if args[2] and args[2] ~= "" then headers["Authorization"] = "Bearer " .. args[2] end
    for line in io.lines(args[1]) do
        local method, path, key, body = line:match("^(%S+)\t(%S+)\t(%S*)\t(.*)$")
        local own = { ["Accept"] = headers["Accept"], ["Authorization"] = headers["Authorization"] }
        if key ~= "" then own["Idempotency-Key"] = key end
        if body ~= "" then own["Content-Type"] = "application/json" else body = nil end
        requests[#requests + 1] = wrk.format(method, path, own, body)
    end
end

function request()
    at = at % #requests + 1
    return requests[at]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '{"requests":%d,"microseconds":%d,"failed":%d,"p50":%d,"p99":%d}\n',
        summary.requests, summary.duration,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
