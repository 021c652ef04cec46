/** What Kubernetes asks of the pods of a namespace. Kubernetes: Pod Security Standards. */

export const POD_SECURITY_LABEL = 'pod-security.kubernetes.io/enforce'

export type PodSecurityLevel = 'restricted' | 'baseline' | 'privileged'
