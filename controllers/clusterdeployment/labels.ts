/**
 * On a ClusterDeployment as an annotation, written before its cluster is registered, and on the cluster's record as a label: by
 * this id the record is found again, whatever became of the answer to its registration. It is the ClusterDeployment's first uid, so
 * two managers write the same, and a ClusterDeployment that is restored from a backup finds its cluster again (CLUSTER-1).
 */
export const REGISTRATION = 'hyperfleet.redhat.com/registration'

/** On a ClusterDeployment: a person has seen that nothing is left of the record with this id, which the API lost. CLUSTER-42. */
export const NOTHING_LEFT = 'hyperfleet.redhat.com/nothing-left'

/** What the labels begin with by which records are found and told apart. */
export const OWN_LABELS = 'hyperfleet.redhat.com/'

/** On a record: the Kubernetes cluster that registered it, by the uid of its namespace kube-system. */
export const KUBERNETES = 'hyperfleet.redhat.com/kubernetes'

/** On a record: a digest of the customization that the cluster leases, and of the Kubernetes cluster where that is. */
export const CUSTOMIZATION = 'hyperfleet.redhat.com/customization'

/** On a ClusterDeployment, as Hive's: it stays until the HyperFleet API has its cluster no more. docs/decisions/pool-plan.md. */
export const DEPROVISION_FINALIZER = 'hive.openshift.io/deprovision'
