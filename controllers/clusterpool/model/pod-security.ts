/** What Kubernetes asks of the pods of a namespace. Kubernetes: Pod Security Standards. */

export type PodSecurityLevel = 'restricted' | 'baseline' | 'privileged'
