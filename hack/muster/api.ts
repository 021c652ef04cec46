/** The HyperFleet API of a whole suite: with the kinds of kustomize/overlays/dev, and each controller in its role. */
import { join } from 'node:path'
import { ADAPTERS, CLUSTERS, type Home, SENTINELS } from './managers.ts'
import { authArgs } from './tokens.ts'

/** Of kustomize/overlays/dev: makes the samples. */
export const DEVELOPER = 'hyperfleet-developer'

const KINDS = join(import.meta.dirname, '..', '..', 'kustomize', 'overlays', 'dev', 'kinds.yaml')

/** Its arguments. @param storage the flag that says where its database is */
export const apiArgs = async (
  { cluster, namespace, scratch }: Home,
  { port, storage, natsUrl }: { readonly port: number; readonly storage: string; readonly natsUrl: string | undefined },
): Promise<readonly string[]> => [
  `--bind-address=127.0.0.1:${port}`,
  storage,
  `--config=${KINDS}`,
  ...(await authArgs(cluster, scratch, namespace, {
    [SENTINELS.account]: 'adapter',
    [ADAPTERS.account]: 'reader',
    [CLUSTERS.account]: 'editor',
    [DEVELOPER]: 'admin',
  })),
  `--auth-task-accounts=${namespace}`,
  ...(natsUrl === undefined ? [] : [`--nats-url=${natsUrl}`]),
]
