/** From one release to the next, and back, by commits that Argo CD syncs, while clients write. */
import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { dump, load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ensureArchive } from '#hack/image/local/archive-cache.ts'
import { musterImage } from '#hack/image/local/images.ts'
import { ARGO_NAMESPACE, applicationsOf } from '#test/harness/argocd.ts'
import { type GitRepository, gitRepository } from '#test/harness/git.ts'
import { settled } from '#test/harness/ground/kind.ts'
import { kindWithArgo } from '#test/harness/ground/kind/argocd.ts'
import { type KindNodes, kindClusterMissing, PATIENCE } from '#test/harness/ground/kind/cluster.ts'
import { GIT_URL } from '#test/harness/ground/kind/pods.ts'
import { LAST_RELEASE, lastRelease, lastReleaseMissing, lastReleaseTree } from '#test/harness/last-release.ts'
import { writer } from './writer.ts'
import { NAMESPACE, type Pod } from './world.ts'

const MISSING = kindClusterMissing() ?? lastReleaseMissing()

vi.setConfig({ testTimeout: 1_200_000 })

const IMAGE = 'quay.io/hyperfleet/muster'
const OLD_TAG = 'last-release'
const ENVIRONMENT = 'stage'
const APPLICATION = 'muster-here'
const OVERLAY = `kustomize/overlays/${ENVIRONMENT}/kustomization.yaml`

interface Overlay {
  readonly [part: string]: unknown
}

/** On a node of two cores a rolling update would find no room for a second pod of each. */
const SMALL = ['Deployment', 'StatefulSet'].map((kind) => ({
  target: { kind, labelSelector: 'app.kubernetes.io/name!=hyperfleet-api' },
  patch: dump([{ op: 'replace', path: '/spec/template/spec/containers/0/resources/requests/cpu', value: '1m' }]),
}))

const brief = (status: any) =>
  JSON.stringify({
    sync: status?.sync?.status,
    health: status?.health,
    op: [status?.operationState?.phase, status?.operationState?.message],
    conditions: status?.conditions,
    off: status?.resources?.filter((r: any) => r.status !== 'Synced' || (r.health && r.health.status !== 'Healthy')),
  })

describe.skipIf(MISSING !== undefined)(MISSING ?? 'an upgrade and the way back', () => {
  let git: GitRepository
  let nodes: KindNodes

  const kubectl = (...args: readonly string[]) => nodes.cluster.kubectl(...args, `--namespace=${NAMESPACE}`)

  /** Commits the tree of a release as a fork has it. @param tree a folder with its `kustomize` and `manifests` */
  const release = async (message: string, tree: string, tag?: string): Promise<string> => {
    for (const folder of ['kustomize', 'manifests']) {
      await rm(join(git.folder, folder), { recursive: true, force: true })
      await cp(join(tree, folder), join(git.folder, folder), { recursive: true })
    }
    for (const folder of ['kustomize/declared', 'kustomize/tasks'])
      await rm(join(git.folder, folder), { recursive: true, force: true })
    const overlay = load(await git.read(OVERLAY)) as Overlay
    return git.commit(message, {
      'kustomize/argocd/source.yaml': (await git.read('kustomize/argocd/source.yaml')).replace(
        /repoURL: .*/,
        `repoURL: ${GIT_URL}`,
      ),
      [OVERLAY]: dump({ ...overlay, patches: SMALL, ...(tag !== undefined && { images: [{ name: IMAGE, newTag: tag }] }) }),
    })
  }

  const synced = async (commit: string): Promise<void> => {
    for (const condition of settled(APPLICATION, commit)) await nodes.cluster.kubectl('wait', ...condition, PATIENCE)
    await nodes.rolledOut(NAMESPACE)
  }

  const pods = async (): Promise<readonly Pod[]> =>
    (JSON.parse(await kubectl('get', 'pods', '--output=json')) as { items: readonly Pod[] }).items

  beforeAll(async () => {
    git = await gitRepository()
    nodes = await kindWithArgo(git, { resync: 3, apiNamespace: NAMESPACE })
    const [, bundle = ''] = await lastRelease()
    const info = { version: '0.0.0', commit: LAST_RELEASE, time: 'unknown' }
    const image = await musterImage(dirname(bundle), info)
    await nodes.load(await ensureArchive({ ...image, name: 'last-release', tag: `${IMAGE}:${OLD_TAG}` }, console.error))
    await release('The last release', await lastReleaseTree(), OLD_TAG)
    await nodes.apply([
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: 'cluster-here',
          namespace: ARGO_NAMESPACE,
          labels: { 'argocd.argoproj.io/secret-type': 'cluster', 'muster.dev/environment': ENVIRONMENT },
        },
        stringData: { name: 'here', server: 'https://kubernetes.default.svc', config: '{}' },
      },
    ])
    const folder = join(git.folder, 'kustomize/argocd')
    await nodes.cluster.kubectl('apply', '--server-side', '--force-conflicts', '--kustomize', folder)
    await vi.waitFor(
      async () => {
        const status = await applicationsOf(nodes.cluster)(APPLICATION)
        if (status?.operationState?.phase !== 'Succeeded' || status.health?.status !== 'Healthy')
          throw new Error(JSON.stringify(status).slice(0, 1000))
      },
      { timeout: 300_000, interval: 1000 },
    )
    await nodes.rolledOut(NAMESPACE)
    console.log('OLD STANDS')
  }, 1_800_000)

  afterAll(() => nodes?.[Symbol.asyncDispose]())

  test('experiment', async () => {
    const tree = await lastReleaseTree()
    await nodes.cluster.kubectl('apply', '--server-side', '--kustomize', join(tree, 'kustomize/samples/tasks/cluster-validation'))
    await nodes.cluster.kubectl('apply', '--server-side', '--kustomize', join(tree, 'kustomize/samples/pools'))
    await kubectl('wait', 'adaptertasks', '--all', '--for=condition=Ready', '--timeout=300s')
    const writes = await writer(nodes)
    console.log('BEGIN', new Date().toISOString())
    const commit = await release('This release', join(import.meta.dirname, '../../..'))
    await synced(commit).catch((error) => console.log('NOT SYNCED', String(error).slice(0, 600)))
    console.log('UPGRADED', new Date().toISOString())
    const first = await writes.end()
    console.log('WRITES', first.confirmed.length, JSON.stringify(first.refused))
    console.log(await kubectl('get', 'pods,jobs,clusterpools,clusterdeployments,clusterclaims,adaptertasks', '--output=wide'))
    console.log(brief(await applicationsOf(nodes.cluster)(APPLICATION)))
    await git.revert()
    await new Promise((resolve) => setTimeout(resolve, 150_000))
    console.log('BACK', new Date().toISOString())
    console.log(await kubectl('get', 'pods,jobs,clusterpools,clusterdeployments,clusterclaims,adaptertasks', '--output=wide'))
    console.log(brief(await applicationsOf(nodes.cluster)(APPLICATION)))
    for (const { metadata } of (await pods()).filter(({ status }) => status.phase !== 'Succeeded'))
      console.log(metadata.name, (await kubectl('logs', metadata.name, '--all-containers', '--tail=8').catch(String)).slice(0, 2500))
    expect(first.refused).toEqual([])
  })
})
