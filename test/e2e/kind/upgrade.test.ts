/** From one release to the next, and back, by commits that Argo CD syncs, while clients write. */
import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { dump, load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { checkoutInfo } from '#cmd/build-info.ts'
import { imageOf } from '#hack/image/build.ts'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { ensureArchive } from '#hack/image/local/archive-cache.ts'
import { musterImage } from '#hack/image/local/images.ts'
import { applicationsOf, clusterHere } from '#test/harness/argocd.ts'
import { isDeep } from '#test/harness/deep.ts'
import { type GitRepository, gitRepository } from '#test/harness/git.ts'
import { kindWithArgo } from '#test/harness/ground/kind/argocd.ts'
import { type KindNodes, kindClusterMissing, PATIENCE } from '#test/harness/ground/kind/cluster.ts'
import { GIT_URL } from '#test/harness/ground/kind/pods.ts'
import { settled } from '#test/harness/ground/kind.ts'
import { LAST_RELEASE, lastRelease, lastReleaseMissing, lastReleaseTree } from '#test/harness/last-release.ts'
import { NAMESPACE, type Pod } from './world.ts'
import { validations, writer } from './writer.ts'

const MISSING =
  kindClusterMissing() ?? lastReleaseMissing() ?? (isDeep ? undefined : 'ten minutes: npm run test:deep has it')

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

describe.skipIf(MISSING !== undefined)(MISSING ?? 'an upgrade and the way back', () => {
  let git: GitRepository
  let nodes: KindNodes
  /** The files of the last release. */
  let last: string

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
      [OVERLAY]: dump({
        ...overlay,
        patches: SMALL,
        ...(tag !== undefined && { images: [{ name: IMAGE, newTag: tag }] }),
      }),
    })
  }

  const synced = async (commit: string): Promise<void> => {
    for (const condition of settled(APPLICATION, commit)) await nodes.cluster.kubectl('wait', ...condition, PATIENCE)
    await nodes.rolledOut(NAMESPACE)
  }

  beforeAll(async () => {
    git = await gitRepository()
    const [, bundle = ''] = await lastRelease()
    const info = { version: '0.0.0', commit: LAST_RELEASE, time: 'unknown' }
    const image = await musterImage(dirname(bundle), info)
    const archive = await ensureArchive({ ...image, name: 'last-release', tag: `${IMAGE}:${OLD_TAG}` }, console.error)
    nodes = await kindWithArgo(git, { resync: 3, apiNamespace: NAMESPACE, archives: [archive] })
    last = await lastReleaseTree()
    await release('The last release', last, OLD_TAG)
    await nodes.apply([clusterHere(ENVIRONMENT)])
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
  }, 1_800_000)

  afterAll(() => nodes?.[Symbol.asyncDispose]())

  const deployments = async (): Promise<readonly string[]> =>
    (await kubectl('get', 'deployments', '--output=name')).trim().split('\n')

  /** The images of the suite that pods run which are ready. */
  const running = async (): Promise<readonly string[]> => {
    const { items }: { items: readonly Pod[] } = JSON.parse(await kubectl('get', 'pods', '--output=json'))
    const ready = items.filter(
      ({ metadata, status }) =>
        metadata.labels['app.kubernetes.io/part-of'] === 'muster' &&
        status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    )
    return ready
      .flatMap(({ spec }) => spec.containers.map(({ image }) => image))
      .filter((image) => image.startsWith(IMAGE))
  }

  /** What a person would lose: the pool's clusters, by what they are. */
  const clusters = async (): Promise<readonly string[]> =>
    (
      await nodes.cluster.kubectl(
        'get',
        'clusterdeployments',
        '--all-namespaces',
        '--output=jsonpath={.items[*].metadata.uid}',
      )
    )
      .split(' ')
      .toSorted()

  /** Commits while clients write. @returns the ids of what was written */
  const underLoad = async (change: () => Promise<void>): Promise<readonly string[]> => {
    const writes = await writer(nodes)
    await change()
    const { confirmed, refused } = await writes.end()
    await kubectl('delete', 'pod', 'writer')
    expect(refused).toEqual([])
    expect(confirmed.length).toBeGreaterThan(0)
    return confirmed
  }

  /** Each has had its Job, once. */
  const validated = async (ids: readonly string[]): Promise<void> => {
    const jobs = ids.map((id) => `validate-${id}`).toSorted()
    await expect
      .poll(() => validations(nodes), { timeout: 300_000, interval: 2_000 })
      .toEqual(expect.arrayContaining(jobs))
  }

  let before: readonly string[]

  test('a commit takes everything to this release: no write is refused, none is lost, and pools keep their clusters', async () => {
    for (const folder of ['tasks/cluster-validation', 'pools'])
      await nodes.cluster.kubectl('apply', '--server-side', '--kustomize', join(last, 'kustomize/samples', folder))
    await kubectl('wait', 'adaptertasks', '--all', '--for=condition=Ready', '--timeout=300s')
    await kubectl('wait', 'clusterpool/edge', '--for=jsonpath={.status.size}=3', '--timeout=300s')
    before = await clusters()
    expect(before).toHaveLength(3)
    const written = await underLoad(async () => synced(await release('This release', CHECKOUT)))
    expect(new Set(await running())).toEqual(new Set([imageOf(checkoutInfo(CHECKOUT))]))
    await validated(written)
    expect(await clusters()).toEqual(before)
  })

  test('a revert takes everything back but the API, whose database has no way back: its pods of this release go on', async () => {
    const written = await underLoad(async () => {
      await git.revert()
      const back = (await deployments()).filter((name) => !name.endsWith('/hyperfleet-api'))
      const old = () => kubectl('get', ...back, '--output=jsonpath={.items[*].spec.template.spec.containers[0].image}')
      const all = back.map(() => `${IMAGE}:${OLD_TAG}`).join(' ')
      await expect.poll(old, { timeout: 300_000, interval: 1_000 }).toBe(all)
      for (const part of [...back, 'statefulset/nats']) await kubectl('rollout', 'status', part, PATIENCE)
    })
    await validated(written)
    expect(await clusters()).toEqual(before)
  })

  test('and forward again', async () => {
    const written = await underLoad(async () => synced(await git.revert()))
    expect(new Set(await running())).toEqual(new Set([imageOf(checkoutInfo(CHECKOUT))]))
    await validated(written)
    expect(await clusters()).toEqual(before)
  })
})
