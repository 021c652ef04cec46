-- The rollout goes on in spite of its failures. Any text does that was not there before: resourceVersions don't come back.
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["fleet.nationtech.io/resume"] = obj.metadata.resourceVersion
return obj
