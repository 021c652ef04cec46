-- No run begins; events wait.
obj.spec.suspend = true
return obj
