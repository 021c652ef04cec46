/** From one release to the next, and back, by commits that Argo CD syncs, while clients write. What a person does is run from docs/upgrade.md. */
import { execFile } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { dump, load } from 'js-yaml'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { checkoutInfo } from '#cmd/build-info.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { binariesFolder } from '#hack/gobuild/set.ts'
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
import { stateOf } from '#test/harness/ground/kind/state.ts'
import { settled } from '#test/harness/ground/kind.ts'
import { LAST_RELEASE, lastRelease, lastReleaseMissing, lastReleaseTree } from '#test/harness/last-release.ts'
import { commandsBelow, readPage } from '#test/integration/docs/page.ts'
import { runPage } from '#test/integration/docs/shell.ts'
import { ownSources } from '#test/integration/docs/worlds.ts'
import { runCommands } from './commands.ts'
import { commitOverlay, giveAddresses, installedByThePage, takenAway } from './production.ts'
import { NAMESPACE, type Pod } from './world.ts'
import { validations, writer } from './writer.ts'

const MISSING =
  kindClusterMissing() ?? lastReleaseMissing() ?? (isDeep ? undefined : 'over half an hour: npm run test:deep has it')

vi.setConfig({ testTimeout: 1_800_000 })

const IMAGE = 'quay.io/hyperfleet/muster'
const OLD_TAG = 'last-release'
const APPLICATION = 'muster-here'
/** As the page calls it, on top of one that is delivered. */
const ENVIRONMENT = 'lyon'
const OVERLAY = `kustomize/overlays/${ENVIRONMENT}/kustomization.yaml`
const DELIVERED = 'kustomize/overlays/stage/kustomization.yaml'
const API = 'hyperfleet-api'

const run = promisify(execFile)

interface Overlay {
  readonly [part: string]: unknown
}

/** On a node of two cores a rolling update would find no room for a second pod of each. */
const SMALL = ['Deployment', 'StatefulSet'].map((kind) => ({
  target: { kind, labelSelector: `app.kubernetes.io/name!=${API}` },
  patch: dump([{ op: 'replace', path: '/spec/template/spec/containers/0/resources/requests/cpu', value: '1m' }]),
}))

describe.skipIf(MISSING !== undefined)(MISSING ?? 'an upgrade and the way back', () => {
  let git: GitRepository
  let nodes: KindNodes
  /** The files of the last release. */
  let last: string
  /** In which a person goes back. */
  let clone: string | undefined

  const kubectl = (...args: readonly string[]) => nodes.cluster.kubectl(...args, `--namespace=${NAMESPACE}`)

  /** Commits the tree of a release as a fork has it. @param tree a folder with its `kustomize` and `manifests` */
  const release = async (message: string, tree: string, tag?: string): Promise<string> => {
    for (const folder of ['kustomize', 'manifests']) {
      await rm(join(git.folder, folder), { recursive: true, force: true })
      await cp(join(tree, folder), join(git.folder, folder), { recursive: true })
    }
    for (const folder of ['kustomize/declared', 'kustomize/tasks'])
      await rm(join(git.folder, folder), { recursive: true, force: true })
    const delivered = load(await git.read(DELIVERED)) as Overlay
    return git.commit(message, {
      'kustomize/argocd/source.yaml': (await git.read('kustomize/argocd/source.yaml')).replace(
        /repoURL: .*/,
        `repoURL: ${GIT_URL}`,
      ),
      [DELIVERED]: dump({ ...delivered, ...(tag !== undefined && { images: [{ name: IMAGE, newTag: tag }] }) }),
      [OVERLAY]: dump({
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        resources: ['../stage'],
        patches: SMALL,
      }),
    })
  }

  const commandsOf = async (heading: string, page = 'docs/upgrade.md'): Promise<readonly string[]> =>
    commandsBelow(await readPage(page), heading)

  /** Does what a person types, in a clone. */
  const types = async (commands: readonly string[]): Promise<void> => {
    clone ??= await git.clone()
    await run('git', ['pull', '--quiet'], { cwd: clone })
    await runCommands(commands, nodes, clone)
  }

  /** Does what a page says below a heading. */
  const does = async (heading: string, page?: string): Promise<void> => types(await commandsOf(heading, page))

  const synced = async (commit: string): Promise<void> => {
    for (const condition of settled(APPLICATION, commit)) await nodes.cluster.kubectl('wait', ...condition, PATIENCE)
    await nodes.rolledOut(NAMESPACE)
  }

  /** Waits until the last release has been applied; Argo CD never called its NATS Synced. */
  const applied = async (commit?: string): Promise<void> => {
    await vi.waitFor(
      async () => {
        const { operationState, health } = (await applicationsOf(nodes.cluster)(APPLICATION)) ?? {}
        const { phase, syncResult } = operationState ?? {}
        expect([phase, health?.status]).toEqual(['Succeeded', 'Healthy'])
        if (commit !== undefined) expect(syncResult?.revision).toBe(commit)
      },
      { timeout: 900_000, interval: 1_000 },
    )
    await nodes.rolledOut(NAMESPACE)
  }

  /** What Argo CD calls other than Git has it, as Kind/name. */
  const outOfSync = async (): Promise<readonly string[]> => {
    const { resources = [] } = (await applicationsOf(nodes.cluster)(APPLICATION)) ?? {}
    return resources.filter(({ status }) => status !== 'Synced').map(({ kind, name }) => `${kind}/${name}`)
  }

  const tell = async (): Promise<void> => {
    if (nodes !== undefined) console.error(await stateOf(nodes, NAMESPACE))
  }

  const begin = async (): Promise<void> => {
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
    await applied()
  }

  beforeAll(async () => {
    try {
      await begin()
    } catch (error) {
      await tell()
      throw error
    }
  }, 1_800_000)

  beforeEach(({ onTestFailed }) => onTestFailed(tell, 120_000))

  afterAll(() => nodes?.[Symbol.asyncDispose]())

  /** The images that ready pods run. */
  const images = async (isWanted: (labels: Pod['metadata']['labels']) => boolean): Promise<readonly string[]> => {
    const { items }: { items: readonly Pod[] } = JSON.parse(await kubectl('get', 'pods', '--output=json'))
    const ready = items.filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        isWanted(metadata.labels) &&
        status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    )
    return ready.flatMap(({ spec }) => spec.containers.map(({ image }) => image))
  }

  /** Those of the suite, as it is delivered. The last release has no label that tells them. @param isWanted by the name of the program */
  const running = async (isWanted: (name: string) => boolean = () => true): Promise<ReadonlySet<string>> => {
    const found = await images((labels) => isWanted(labels['app.kubernetes.io/name'] ?? ''))
    return new Set(found.filter((image) => image.startsWith(IMAGE)))
  }
  const THIS = new Set([imageOf(checkoutInfo(CHECKOUT))])

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
    await using stack = new AsyncDisposableStack()
    stack.defer(async () => void (await kubectl('delete', 'pod', 'writer')))
    await change()
    const { confirmed, refused } = await writes.end()
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

  // Journey 8
  test('a commit takes everything to this release: no write is refused, none is lost, and pools keep their clusters', async () => {
    for (const folder of ['tasks/cluster-validation', 'pools'])
      await nodes.cluster.kubectl('apply', '--server-side', '--kustomize', join(last, 'kustomize/samples', folder))
    await kubectl('wait', 'adaptertasks', '--all', '--for=condition=Ready', '--timeout=300s')
    await kubectl('wait', 'clusterpool/edge', '--for=jsonpath={.status.size}=3', '--timeout=300s')
    before = await clusters()
    expect(before).toHaveLength(3)
    await does('Accounts of tasks have a namespace of their own')
    const [beforehand = '', afterwards = ''] = await commandsOf('Adapter tasks apply nothing where Muster is')
    await types([beforehand])
    const written = await underLoad(async () => synced(await release('This release', CHECKOUT)))
    await types([afterwards])
    expect(await running()).toEqual(THIS)
    await validated(written)
    expect(await clusters()).toEqual(before)
  })

  test('a commit takes everything back but the API, whose database has no way back: it stays as this release has it', async () => {
    const written = await underLoad(async () => {
      await does('Roll back')
      await applied(await git.head())
    })
    // As docs/upgrade.md has it: what the release before does not have, and what it never had Synced.
    const stays = ['Namespace/hyperfleet-tasks', 'Namespace/hyperfleet-work', 'ServiceAccount/hyperfleet-nats']
    await expect.poll(outOfSync, { timeout: 60_000 }).toEqual([...stays, 'StatefulSet/nats'])
    expect(await running((name) => name === API)).toEqual(THIS)
    expect(await running((name) => name !== API)).toEqual(new Set([`${IMAGE}:${OLD_TAG}`]))
    await validated(written)
    expect(await clusters()).toEqual(before)
  })

  test('and its revert takes everything to this release again', async () => {
    const written = await underLoad(async () => {
      await does('Forward again')
      await synced(await git.head())
    })
    expect(await running()).toEqual(THIS)
    await validated(written)
    expect(await clusters()).toEqual(before)
  })

  /** For the end of a kustomization's list. */
  const smaller = dump(SMALL).replaceAll(/^(?=.)/gm, '  ')

  // Journey 1
  test('docs/install.md takes all of it away, and docs/install-production.md brings it from nothing to Healthy', async () => {
    await takenAway(nodes, git, ENVIRONMENT)
    const checkout = await installedByThePage(nodes)
    const commit = await commitOverlay(git, checkout, ENVIRONMENT, smaller, ['prod'])
    await nodes.apply([clusterHere(ENVIRONMENT)])
    await giveAddresses(nodes)
    await does('8. Argo CD', 'docs/install-production.md')
    await synced(commit)
    const ours = await images((labels) => labels['app.kubernetes.io/part-of'] === 'muster')
    const byDigest = ours.map((image) => image.replace(/@sha256:[0-9a-f]{64}$/, ' by digest'))
    expect(new Set(byDigest)).toEqual(
      new Set(['registry.example.com/platform/muster by digest', 'registry.example.com/mirror/nats by digest']),
    )
    await underLoad(async () => {
      const said = () => kubectl('logs', 'writer')
      await expect.poll(said, { timeout: 60_000 }).toMatch(/^confirmed /m)
    })
  })

  // Journey 6
  // GITOPS-31
  test('the overlay of a member is Synced and Healthy, and runs the manager of tasks alone', async () => {
    const member = 'boston'
    const checkout = await ownSources()
    const programs = [binariesFolder(CONTROL_PLANE)]
    const { kubeconfig } = nodes.cluster
    await runPage(await readPage('docs/topology.md'), { kubeconfig, checkout, programs, printed: {} })
    const commit = await commitOverlay(git, checkout, member, `patches:\n${smaller}`)
    await nodes.apply([clusterHere(member)])
    // The Application of the other environment goes, and one of this comes, whenever the ApplicationSet looks.
    const read = applicationsOf(nodes.cluster)
    const pathSynced = async () => (await read(APPLICATION))?.sync?.comparedTo?.source?.path
    await expect.poll(pathSynced, { timeout: 600_000 }).toBe(`kustomize/overlays/${member}`)
    await synced(commit)
    const workloads = () => kubectl('get', 'deployments,statefulsets', '--output=name')
    await expect.poll(workloads, { timeout: 300_000 }).toBe('deployment.apps/hyperfleet-adapter\n')
  })
})
