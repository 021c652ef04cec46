-- What can be done to a cluster now. Those of a pool that nobody has claimed are the pool's to switch.
local spec = obj.spec or {}
local unclaimed = spec.clusterPoolRef ~= nil and spec.clusterPoolRef.claimName == nil
local asleep = spec.powerState == "Hibernating"
return {
  ["hibernate"] = { disabled = unclaimed or asleep },
  ["start"] = { disabled = unclaimed or not asleep },
  ["replace"] = { disabled = not unclaimed },
}
