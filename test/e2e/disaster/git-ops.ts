/** Stands for Argo CD: test/e2e/argocd and test/e2e/fire have the real one. */
import { dump } from 'js-yaml'
import type { OwnControlPlane } from '#test/harness/index.ts'
import type { Manifest } from '#test/harness/suite.ts'
import { KINDS, type Kind } from '#test/worlds/suite/observer/kinds.ts'
import type { KubeSight } from '#test/worlds/suite/observer/sights.ts'
import { repeat, type Working } from './repeat.ts'

const DECLARED_KINDS = ['ClusterDeploymentCustomization', 'ClusterPool', 'ClusterClaim', 'Deployment'] as const

export const yamlOf = (manifests: readonly object[]): string =>
  manifests.map((manifest) => dump(manifest, { noRefs: true })).join('---\n')

const keyOf = ({ kind, metadata }: Pick<KubeSight, 'kind'> & { readonly metadata: { readonly name: string } }) =>
  `${kind} ${metadata.name}`

/**
 * What Argo CD does with pruning and self-healing: what is declared is there, and nothing else of these kinds. An object is applied when
 * it is declared otherwise than before, is not there, or has another spec than after it was applied.
 */
export const gitOps = (namespace: string, { rest }: OwnControlPlane, declared: () => readonly object[]): Working => {
  /** What was applied, and what the object was then. */
  const synced = new Map<string, string>()
  const pathOf = (kind: Kind): string => KINDS[kind].replace(/\/(\w+)$/, `/namespaces/${namespace}/$1`)
  const listed = async (kind: Kind): Promise<readonly KubeSight[]> => {
    const { items } = await rest<{ items: readonly KubeSight[] }>('GET', pathOf(kind))
    return items.map((item) => ({ ...item, kind }))
  }
  const stateOf = (manifest: object, { metadata: { uid, generation } }: KubeSight): string =>
    JSON.stringify([manifest, uid, generation])
  return repeat(1_000, async () => {
    const manifests = declared() as readonly Manifest[]
    if (manifests.length === 0) return
    const there = new Map((await Promise.all(DECLARED_KINDS.map(listed))).flat().map((one) => [keyOf(one), one]))
    for (const manifest of manifests) {
      const key = keyOf(manifest)
      const found = there.get(key)
      if (found !== undefined && synced.get(key) === stateOf(manifest, found)) continue
      const path = `${pathOf(manifest.kind as Kind)}/${manifest.metadata.name}?fieldManager=argocd-controller&force=true`
      const applied = await rest<KubeSight>('PATCH', path, manifest, 'application/apply-patch+yaml')
      synced.set(key, stateOf(manifest, applied))
    }
    const wanted = new Set(manifests.map(keyOf))
    for (const [key, { kind, metadata }] of there)
      if (!wanted.has(key) && metadata.deletionTimestamp === undefined)
        await rest('DELETE', `${pathOf(kind as Kind)}/${metadata.name}`)
  })
}
