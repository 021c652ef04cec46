-- What Argo CD says of every kind of Muster. Lua 5.1 without libraries.
local function verdict(status, message)
  return { status = status, message = message or "" }
end

-- Reasons of the condition Required of a task that name something to write.
local TOLD = {
  EveryReportCounts = true,
  NotRequired = true,
  OthersHaveNoTask = true,
  RequiredAdaptersUndecided = true,
  UnknownResourceType = true,
}

local spec = obj.spec or {}
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local ready = conditions.Ready
local stalled = conditions.Stalled

if ready == nil then
  return verdict("Progressing", "Its controller has said nothing yet")
end
if status.observedGeneration ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return verdict("Progressing", "Its controller has not seen the last change yet")
end
-- Degraded fails a whole sync, so it is kept for what only a person can correct.
if stalled ~= nil and stalled.status == "True" then
  return verdict("Degraded", stalled.message)
end
-- A rollout that a person holds, or that waits for one. One that its failures stopped is Stalled.
local rollout = status.rollout or {}
local held = rollout.phase == "Paused"
-- What waits for a window has no good batch yet, and goes on by itself.
if rollout.phase == "Waiting" and rollout.goodSince ~= nil and (spec.rollout or {}).approval == "Manual" then
  held = true
end
if held or spec.suspend == true then
  return verdict("Suspended", rollout.message or ready.message)
end
if ready.status == "True" then
  -- A task works, and what the API requires does not fit the tasks: the words say it, for a sync waits for all that is not Healthy.
  local required = conditions.Required
  if obj.kind == "AdapterTask" and required ~= nil and TOLD[required.reason] then
    return verdict("Healthy", (ready.message or "") .. "; " .. required.message)
  end
  return verdict("Healthy", ready.message)
end
-- That a device is off is no fault of what was synced.
if obj.kind == "Device" then
  return verdict("Suspended", ready.message)
end
return verdict("Progressing", ready.message)
