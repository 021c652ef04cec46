-- The cluster is woken.
obj.spec.powerState = "Running"
return obj
