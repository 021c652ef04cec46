/** Which ways of the network are open to the pods beside a cluster at first: those of Jobs alone, or all. POOL-86. */
export type PodNetwork = 'closed' | 'open'
