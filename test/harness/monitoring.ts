/** Kinds of the Prometheus operator, which production has. */
export const MONITORING = ['PodMonitor', 'PrometheusRule'] as const

/** One that takes everything. */
export const monitoringKind = (kind: (typeof MONITORING)[number]) => {
  const plural = `${kind.toLowerCase()}s`
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: anything } }],
    },
  }
}
