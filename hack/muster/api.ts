/** The HyperFleet API of a whole suite: with the kinds of kustomize/overlays/dev, and each controller in its role. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dump, load } from 'js-yaml'
import { ADAPTERS, CLUSTERS, type Home, SENTINELS, TASK_ACCOUNTS } from './managers.ts'
import { authArgs } from './tokens.ts'

/** Of kustomize/overlays/dev: makes the samples. */
export const DEVELOPER = 'hyperfleet-developer'

const KINDS = join(import.meta.dirname, '..', '..', 'kustomize', 'overlays', 'dev', 'kinds.yaml')

export interface ApiSetting {
  readonly port: number
  /** The flag that says where its database is. */
  readonly storage: string
  readonly natsUrl: string | undefined
  /** Without which no cluster is Ready, beside those of the overlay. */
  readonly requiredAdapters?: readonly string[]
  /** The file with the kinds; that of kustomize/overlays/dev when undefined. */
  readonly kinds?: string | undefined
}

interface Kinds {
  readonly entities: readonly { readonly kind: string; readonly required_adapters: readonly string[] }[]
}

/** The kinds of the overlay, of which clusters wait for more adapters. @returns a path */
const kindsWith = async (kinds: string, adapters: readonly string[], folder: string): Promise<string> => {
  if (adapters.length === 0) return kinds
  const { entities } = load(await readFile(kinds, 'utf8')) as Kinds
  const extended = entities.map((entity) =>
    entity.kind === 'Cluster' ? { ...entity, required_adapters: [...entity.required_adapters, ...adapters] } : entity,
  )
  const file = join(folder, 'kinds.yaml')
  await writeFile(file, dump({ entities: extended }))
  return file
}

/** Its arguments. */
export const apiArgs = async (
  { cluster, namespace, scratch }: Home,
  { port, storage, natsUrl, requiredAdapters = [], kinds = KINDS }: ApiSetting,
): Promise<readonly string[]> => [
  `--bind-address=127.0.0.1:${port}`,
  storage,
  `--config=${await kindsWith(kinds, requiredAdapters, scratch)}`,
  ...(await authArgs(cluster, scratch, namespace, {
    [SENTINELS.account]: 'adapter',
    [ADAPTERS.account]: 'reader',
    [CLUSTERS.account]: 'editor',
    [DEVELOPER]: 'admin',
  })),
  `--auth-task-accounts=${TASK_ACCOUNTS}=${namespace}`,
  ...(natsUrl === undefined ? [] : [`--nats-url=${natsUrl}`]),
]
