-- What can be done to a rollout now.
local wanted = (obj.spec or {}).rollout or {}
local rollout = (obj.status or {}).rollout or {}
-- What waits for a window has no good batch yet.
local awaits = wanted.approval == "Manual" and rollout.phase == "Waiting" and rollout.goodSince ~= nil
return {
  ["approve-batch"] = { disabled = not awaits },
  ["resume"] = { disabled = rollout.phase ~= "Suspended" },
  ["abort"] = { disabled = rollout.revision == nil or rollout.phase == "Inactive" },
  ["pause"] = { disabled = wanted.paused == true },
  ["unpause"] = { disabled = wanted.paused ~= true },
}
