-- The pool removes this cluster and makes another.
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["hive.openshift.io/remove-cluster-from-pool"] = "true"
return obj
