import type { AdmissionOptions } from '#operator/admission/index.ts'
import { UsageError } from '../failure.ts'
import type { ManagerOptions } from './command.ts'
import type { Permission } from './permission.ts'

/** The ValidatingWebhookConfiguration, the Service and the Secret of kustomize/components/deny-overlap. */
const NAME = 'hyperfleet-sentinel-webhook'

/** What serving the webhook needs beyond what controllers need: to keep its authority, and to tell the API server of it. */
export const webhookPermissions = ({ denyOverlap }: ManagerOptions): readonly Permission[] =>
  denyOverlap
    ? [
        { group: '', resource: 'secrets', verbs: ['create'] },
        { group: '', resource: 'secrets', verbs: ['get', 'list', 'watch', 'update'], name: NAME },
        {
          group: 'admissionregistration.k8s.io',
          resource: 'validatingwebhookconfigurations',
          verbs: ['get', 'list', 'watch', 'patch'],
          name: NAME,
          scope: 'Cluster',
        },
      ]
    : []

/**
 * How admission is served.
 * @returns undefined without `--deny-overlap`
 * @throws UsageError when the webhook can't be reached with what was given
 */
export const admissionOf = (options: ManagerOptions): AdmissionOptions | undefined => {
  const { denyOverlap, webhookBindAddress: binding, webhookHost, namespace = process.env.POD_NAMESPACE } = options
  if (!denyOverlap) return undefined
  if (binding === undefined)
    throw new UsageError('--webhook-bind-address: --deny-overlap needs an address, write :9443')
  if (namespace === undefined)
    throw new UsageError('--deny-overlap: its certificate is kept in a namespace: give --namespace or POD_NAMESPACE')
  const hosts = [webhookHost ?? `${NAME}.${namespace}.svc`]
  return { binding, hosts, secret: { name: NAME, namespace }, validating: NAME }
}
