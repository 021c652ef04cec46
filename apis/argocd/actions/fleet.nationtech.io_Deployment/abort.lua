-- The revision that is being rolled out is taken back.
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["fleet.nationtech.io/abort-revision"] = tostring(obj.status.rollout.revision)
return obj
