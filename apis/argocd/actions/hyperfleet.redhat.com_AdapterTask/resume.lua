-- Runs begin again, with the events that waited.
obj.spec.suspend = false
return obj
