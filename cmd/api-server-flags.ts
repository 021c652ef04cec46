import { optional, type Values } from '#operator/flags/flag.ts'
import { nonEmpty } from '#operator/flags/values.ts'

/** Flags of every command that reaches an API server. */
export const apiServerFlags = {
  kubeconfig: optional('FILE', 'kubeconfig to use (default: KUBECONFIG, ~/.kube/config, the pod’s account)', nonEmpty),
  context: optional('NAME', 'context of the kubeconfig to use (default: its current one)', nonEmpty),
}

export type ApiServerOptions = Values<typeof apiServerFlags>
