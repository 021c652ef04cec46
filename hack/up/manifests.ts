import { dump, loadAll } from 'js-yaml'
import type { Cluster } from '../cluster/cluster.ts'

/** What we read of a manifest. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: Readonly<Record<string, unknown>>
}

const WORKLOADS = new Set(['Deployment', 'StatefulSet'])

/** The API, NATS and the manager run as processes on this machine, so what would run them in the cluster rests. */
export const resting = (manifest: Manifest): Manifest =>
  WORKLOADS.has(manifest.kind) ? { ...manifest, spec: { ...manifest.spec, replicas: 0 } } : manifest

/** A SentinelConfig or AdapterTask that talks to the API on this machine. */
export const pointedAt =
  (url: string) =>
  (manifest: Manifest): Manifest => {
    if (manifest.kind !== 'SentinelConfig' && manifest.kind !== 'AdapterTask') return manifest
    const hyperfleetAPI = { ...(manifest.spec?.hyperfleetAPI as object), url }
    return { ...manifest, spec: { ...manifest.spec, hyperfleetAPI } }
  }

const keyOf = ({ apiVersion, kind, metadata }: Manifest): string =>
  [apiVersion, kind, metadata.namespace ?? '', metadata.name].join('/')

/** Those that are not there yet: what an end of `npm run up` has to remove again. */
export const missingFrom = (there: readonly Manifest[], manifests: readonly Manifest[]): readonly Manifest[] => {
  const keys = new Set(there.map(keyOf))
  return manifests.filter((manifest) => !keys.has(keyOf(manifest)))
}

/** What a kustomization folder holds. */
export const render = async ({ kubectl }: Cluster, folder: string): Promise<readonly Manifest[]> =>
  loadAll(await kubectl(['kustomize', folder])) as Manifest[]

/** Those of the manifests that the cluster does not have yet. */
export const missing = async ({ kubectl }: Cluster, manifests: readonly Manifest[]): Promise<readonly Manifest[]> => {
  const found = await kubectl(['get', '-f', '-', '--ignore-not-found', '-o', 'json'], { input: asYaml(manifests) })
  return missingFrom(itemsOf(found), manifests)
}

/** Applies manifests and waits until new kinds are served. Fields that another program set otherwise are a conflict. */
export const apply = async ({ kubectl }: Cluster, manifests: readonly Manifest[]): Promise<void> => {
  await kubectl(['apply', '--server-side', '--field-manager=muster-up', '-f', '-'], { input: asYaml(manifests) })
  const kinds = manifests.filter(({ kind }) => kind === 'CustomResourceDefinition').map(({ metadata }) => metadata.name)
  if (kinds.length > 0) {
    await kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', ...kinds])
  }
}

/** Deletes manifests, the last one first, and waits until they are gone. */
export const remove = async ({ kubectl }: Cluster, manifests: readonly Manifest[]): Promise<void> => {
  if (manifests.length === 0) return
  const input = asYaml(manifests.toReversed())
  await kubectl(['delete', '-f', '-', '--ignore-not-found', '--timeout=60s'], { input })
}

const asYaml = (manifests: readonly Manifest[]): string => manifests.map((manifest) => dump(manifest)).join('---\n')

/** kubectl prints a list, a single object, or nothing at all. */
const itemsOf = (json: string): readonly Manifest[] => {
  if (json.trim() === '') return []
  const found = JSON.parse(json) as Manifest & { readonly items?: readonly Manifest[] }
  return found.items ?? [found]
}
