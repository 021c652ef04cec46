import type { AdmissionOptions } from '#operator/admission/index.ts'
import type { Permission } from '#operator/model/permission.ts'
import { UsageError } from '../failure.ts'
import type { ManagerOptions } from './command.ts'

/** The ValidatingWebhookConfigurations, the Services and the Secrets of kustomize/components/{deny-overlap,webhook}. */
const namesOf = ({ denyOverlap, denyInvalidTasks }: ManagerOptions): readonly string[] => [
  ...(denyOverlap ? ['hyperfleet-sentinel-webhook'] : []),
  ...(denyInvalidTasks ? ['hyperfleet-adapter-webhook'] : []),
]

/** What serving the webhooks needs beyond what controllers need: to keep their authority, and to tell the API server of it. */
export const webhookPermissions = (options: ManagerOptions): readonly Permission[] =>
  namesOf(options).flatMap((name) => [
    { group: '', resource: 'secrets', verbs: ['create'] },
    { group: '', resource: 'secrets', verbs: ['get', 'list', 'watch', 'update'], name },
    {
      group: 'admissionregistration.k8s.io',
      resource: 'validatingwebhookconfigurations',
      verbs: ['list', 'watch', 'patch'],
      name,
      scope: 'Cluster',
    },
  ])

/**
 * How admission is served.
 * @returns undefined without `--deny-overlap` and `--deny-invalid-tasks`
 * @throws UsageError when the webhooks can't be reached with what was given
 */
export const admissionOf = (options: ManagerOptions): AdmissionOptions | undefined => {
  const { webhookBindAddress: binding, webhookHost, namespace = process.env.POD_NAMESPACE } = options
  const [name, ...more] = namesOf(options)
  if (name === undefined) return undefined
  const flag = options.denyOverlap ? '--deny-overlap' : '--deny-invalid-tasks'
  if (binding === undefined) throw new UsageError(`--webhook-bind-address: ${flag} needs an address, write :9443`)
  if (namespace === undefined)
    throw new UsageError(`${flag}: its certificate is kept in a namespace: give --namespace or POD_NAMESPACE`)
  const hosts =
    webhookHost === undefined ? [name, ...more].map((service) => `${service}.${namespace}.svc`) : [webhookHost]
  return { binding, hosts, secret: { name, namespace }, validating: [name, ...more] }
}
