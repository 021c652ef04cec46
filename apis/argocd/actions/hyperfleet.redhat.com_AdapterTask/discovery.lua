-- What can be done to an adapter task now.
local suspended = (obj.spec or {}).suspend == true
return { ["suspend"] = { disabled = suspended }, ["resume"] = { disabled = not suspended } }
