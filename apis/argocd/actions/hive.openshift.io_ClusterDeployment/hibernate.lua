-- The cluster is put to sleep.
obj.spec.powerState = "Hibernating"
return obj
