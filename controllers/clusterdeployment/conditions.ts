/** The conditions of a ClusterDeployment beside Ready, Reconciling and Stalled. Hive has them too, but for FAILING. */
export const PROVISIONED = 'Provisioned'
export const STOPPED = 'ProvisionStopped'
/** The present attempt at the installation is failing, and since when. */
export const FAILING = 'ProvisionFailing'
export const HIBERNATING = 'Hibernating'
/** The HyperFleet API lost the cluster, and adapters may not have taken away all that they applied for it. */
export const LEFT_BEHIND = 'LeftBehind'
/** As the HyperFleet API has it: it runs, at some generation. */
export const AVAILABLE = 'Available'
