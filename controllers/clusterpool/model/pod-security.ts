/** What Kubernetes asks of the pods of a namespace. Kubernetes: Pod Security Standards. */

export const POD_SECURITY_LABEL = 'pod-security.kubernetes.io/enforce'

/** Strictest first. */
export const POD_SECURITY_LEVELS = ['restricted', 'baseline', 'privileged'] as const

export type PodSecurityLevel = (typeof POD_SECURITY_LEVELS)[number]
