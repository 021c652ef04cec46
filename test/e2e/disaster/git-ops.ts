/** Stands for Argo CD: test/e2e/argocd and test/e2e/fire have the real one. */
import { writeFile } from 'node:fs/promises'
import { dump } from 'js-yaml'
import type { OwnControlPlane } from '#test/harness/index.ts'
import type { Manifest } from '#test/harness/suite.ts'
import { KINDS, type Kind } from '#test/worlds/suite/observer/kinds.ts'
import type { KubeSight } from '#test/worlds/suite/observer/sights.ts'
import { repeat, type Working } from './repeat.ts'

const DECLARED_KINDS = ['ClusterDeploymentCustomization', 'ClusterPool', 'ClusterClaim', 'Deployment'] as const

export const yamlOf = (manifests: readonly object[]): string =>
  manifests.map((manifest) => dump(manifest, { noRefs: true })).join('---\n')

/**
 * What Argo CD does with pruning and self-healing: what is declared is there, and nothing else of these kinds.
 * @param file that may be written
 */
export const gitOps = (
  namespace: string,
  cluster: OwnControlPlane,
  file: string,
  declared: () => readonly object[],
): Working => {
  let synced = ''
  const pathOf = (kind: Kind): string => KINDS[kind].replace(/\/(\w+)$/, `/namespaces/${namespace}/$1`)
  const listed = async (kind: Kind) => {
    const { items } = await cluster.rest<{ items: readonly KubeSight[] }>('GET', pathOf(kind))
    return items.map(({ metadata: { name, uid, generation } }) => ({ kind, name, uid, generation }))
  }
  const there = async () => (await Promise.all(DECLARED_KINDS.map(listed))).flat()
  return repeat(500, async () => {
    const manifests = declared()
    const yaml = yamlOf(manifests)
    if (manifests.length === 0 || synced === yaml + JSON.stringify(await there())) return
    await writeFile(file, yaml)
    const options = [
      '--server-side',
      '--force-conflicts',
      '--field-manager=argocd-controller',
      `--namespace=${namespace}`,
    ]
    await cluster.kubectl('apply', ...options, '-f', file)
    const wanted = new Set((manifests as readonly Manifest[]).map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    for (const { kind, name } of await there())
      if (!wanted.has(`${kind} ${name}`)) await cluster.rest('DELETE', `${pathOf(kind)}/${name}`)
    const now = await there()
    const names = new Set(now.map(({ kind, name }) => `${kind} ${name}`))
    // What was being deleted while it was applied is gone now, and is applied again.
    synced = wanted.isSubsetOf(names) ? yaml + JSON.stringify(now) : ''
  })
}
