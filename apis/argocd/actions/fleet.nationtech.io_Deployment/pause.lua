-- No further device gets a change, unless Git declares spec.rollout.paused: then it wins.
obj.spec.rollout = obj.spec.rollout or {}
obj.spec.rollout.paused = true
return obj
