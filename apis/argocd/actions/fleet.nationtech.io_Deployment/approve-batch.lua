-- The next batch may begin. Annotations, because Argo CD would take back a field that Git declares.
obj.metadata.annotations = obj.metadata.annotations or {}
local rollout = obj.status.rollout
local batches = tostring(rollout.revision) .. (rollout.drawn and "." .. tostring(rollout.drawn) or "")
obj.metadata.annotations["fleet.nationtech.io/approve-batch"] = tostring(rollout.batch + 1) .. "@" .. batches
return obj
