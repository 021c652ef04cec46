import { LINES } from '../lines.ts'
import { type Container, defineCheck, NAMESPACE, nameOf, type PodSpec } from '../model.ts'
import { containersOf, type NamedWorkload, WORKLOAD_KINDS, workloadsOf } from './pods.ts'

/** As kustomize/base/nats has it: the users, their keys and the certificate, which muster nats writes. */
const USERS = /^\s*include\s+["']?\S*users\.conf["']?\s*$/m

/** Words of nats-server's configuration that let in others than those users, or open another door. */
const OTHER_DOORS = /^\s*(no_auth_user|authorization|accounts|tls|websocket|mqtt|leafnodes|cluster|gateway)\b/m

const serverOf = ({ pod }: NamedWorkload): Container | undefined =>
  containersOf(pod).find(({ args = [], command = [] }) =>
    [...command, ...args].some((word) => word.startsWith('--config=') && word.endsWith('nats.conf')),
  )

const keepsUsers = (pod: PodSpec): boolean =>
  containersOf(pod).some(({ command = [], args = [] }) => [...command, ...args].includes('nats'))

/** NATS lets in keys that Muster knows, by TLS. NATS-1, NATS-3, SECURITY-7. */
export const natsUsersCheck = defineCheck('nats-users', [...WORKLOAD_KINDS, 'ConfigMap'], (objects) =>
  workloadsOf(objects)
    // What is called so serves as it, whatever it runs.
    .filter((workload) => serverOf(workload) !== undefined || workload.where === 'StatefulSet nats')
    .flatMap(({ where, pod }) => {
      const names = (pod.volumes ?? []).flatMap(({ configMap }) => configMap?.name ?? [])
      const configuration = objects.ConfigMap.find(
        ({ metadata, data }) => names.includes(metadata.name) && data?.['nats.conf'] !== undefined,
      )
      const text = configuration?.data?.['nats.conf'] ?? ''
      const file = nameOf('ConfigMap', configuration?.metadata ?? { namespace: NAMESPACE, name: names.join(', ') })
      const door = OTHER_DOORS.exec(text)?.[1]
      const todo = 'apply it again from kustomize/base/nats'
      return [
        ...(keepsUsers(pod) ? [] : [{ where, what: 'muster nats does not run beside the server', todo }]),
        ...(USERS.test(text)
          ? []
          : [{ where: file, what: 'nats.conf does not include users.conf: every client is let in', todo }]),
        ...(door === undefined
          ? []
          : [{ where: file, what: `nats.conf says ${door}, which is for users.conf to say`, todo }]),
      ].map((found) => ({ line: LINES.nats, ...found }))
    }),
)
