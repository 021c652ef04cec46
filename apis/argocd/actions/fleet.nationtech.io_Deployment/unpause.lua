-- Devices get changes again.
obj.spec.rollout = obj.spec.rollout or {}
obj.spec.rollout.paused = false
return obj
