import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { binariesFolder } from '#hack/gobuild/set.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { KubeObject } from '#operator/index.ts'
import type { GroundSuite } from '#test/harness/ground/provider.ts'
import { REPOSITORY, readPage } from '#test/integration/docs/page.ts'
import { runPage } from '#test/integration/docs/shell.ts'
import {
  APPLICATION,
  BEGINNING,
  declared,
  type GitOpsWorld,
  gitOpsWorld,
  inDeclared,
  inTask,
  NAMESPACE,
  OVERLAY,
  PATIENCE,
  task,
  worldMissing,
} from './world.ts'

const MISSING = await worldMissing()

interface Forbidden {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly [field: string]: unknown
}

/** GITOPS-1, GITOPS-3, GITOPS-4: one repository, one Argo CD, commits one after the other. */
describe.skipIf(MISSING !== undefined)(MISSING ?? 'Argo CD and the manifests of this repository', () => {
  let world: GitOpsWorld
  let suite: GroundSuite
  const SHARD = 'shard-north'

  beforeAll(async () => {
    world = await gitOpsWorld()
  }, BEGINNING)

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
  })

  const shard = (name: string, backoff: string, url = suite.apiUrl) => ({
    [inDeclared(SHARD, `${name}.yaml`)]: `apiVersion: hyperfleet.redhat.com/v1alpha1
kind: SentinelConfig
metadata:
  name: ${name}
spec:
  resourceType: clusters
  backoffNotReady: ${backoff}
  backoffReady: 30m
  shardSelector:
    matchLabels:
      region: ${name}
  hyperfleetAPI:
    url: ${url}
    timeout: 10s
  pollInterval: 5s
`,
  })

  const list = (...names: readonly string[]) => ({
    [inDeclared(SHARD, 'kustomization.yaml')]:
      `namespace: ${NAMESPACE}\nresources:\n${names.map((name) => `  - ${name}.yaml\n`).join('')}`,
  })

  const path = (name: string) => `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${NAMESPACE}/sentinelconfigs/${name}`
  const live = (name: string) => world.cluster.rest<SentinelConfig>('GET', path(name))
  const backoff = async (name: string) => (await live(name)).spec.backoffNotReady

  /** Commits objects as one folder, of which Argo CD must refuse each and take none; and takes the commit back. */
  const refusesAll = async (
    application: string,
    path: (file: string) => string,
    forbidden: readonly Forbidden[],
  ): Promise<void> => {
    await world.git.commit('Everything that is not ours', {
      [path('kustomization.yaml')]: 'resources:\n  - objects.yaml\n',
      [path('objects.yaml')]: forbidden.map((object) => JSON.stringify(object)).join('\n---\n'),
    })
    const refused = async () => {
      const results = (await world.application(application))?.operationState?.syncResult?.resources ?? []
      return results.filter(({ status }) => status === 'SyncFailed').map(({ name }) => name)
    }
    await expect.poll(refused, PATIENCE).toEqual(expect.arrayContaining(forbidden.map(({ metadata }) => metadata.name)))
    for (const { kind, metadata } of forbidden) {
      const where = metadata.namespace === undefined ? [] : [`--namespace=${metadata.namespace}`]
      const name = [kind, metadata.name, ...where]
      const found = await world.cluster.kubectl('get', ...name, '--ignore-not-found', '--output=name')
      expect(found, `${kind} ${metadata.name}`).toBe('')
    }
    await world.git.revert()
    // Argo CD deletes an Application only after its sync, which it would try for two and a half minutes: docs/gitops-operate.md, traps.
    const ownPath = `/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/${application}`
    await world.cluster.rest('PATCH', ownPath, { status: { operationState: { phase: 'Terminating' } } })
    await expect.poll(() => world.application(application), PATIENCE).toBeUndefined()
  }

  test('one kubectl apply, and Argo CD syncs itself and the environment of the cluster', {
    timeout: 400_000,
  }, async () => {
    await world.install()
  })

  test('a commit that adds a shard of another API is Degraded with words that say what to do, and Healthy with that of its Sentinel', {
    timeout: 400_000,
  }, async () => {
    suite = await world.suite({ managers: ['sentinels'] })
    await world.git.commit('Add a shard', { ...shard('north', '10s', 'http://127.0.0.1:1'), ...list('north') })
    await expect
      .poll(async () => (await world.application(declared(SHARD)))?.health, PATIENCE)
      .toMatchObject({
        status: 'Degraded',
      })
    expect((await live('north')).status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Stalled',
        status: 'True',
        message: expect.stringContaining('--sentinel-http-targets'),
      }),
    )
    await world.healthy(declared(SHARD), await world.git.commit('Where the API is', shard('north', '10s')))
    await world.cluster.kubectl('wait', '--for=condition=Ready', 'sentinelconfig/north', `--namespace=${NAMESPACE}`)
  })

  test('a commit that changes a backoff is applied, and a revert takes it back', { timeout: 400_000 }, async () => {
    await world.healthy(declared(SHARD), await world.git.commit('Be quicker', shard('north', '7s')))
    expect(await backoff('north')).toBe('7s')
    await world.healthy(declared(SHARD), await world.git.revert())
    expect(await backoff('north')).toBe('10s')
  })

  test('what a person changes by hand is put back', { timeout: 400_000 }, async () => {
    await world.cluster.rest('PATCH', path('north'), { spec: { backoffNotReady: '1h' } })
    await expect.poll(() => backoff('north'), PATIENCE).toBe('10s')
  })

  test('a bad commit is refused with words that say what to write, and what ran goes on', {
    timeout: 400_000,
  }, async () => {
    const { metadata } = await live('north')
    await world.git.commit('Mistype', shard('north', 'soon'))
    await expect
      .poll(async () => (await world.application(declared(SHARD)))?.operationState?.message, PATIENCE)
      .toMatch(/spec\.backoffNotReady.*"soon"/s)
    expect(await live('north')).toMatchObject({ metadata: { uid: metadata.uid }, spec: { backoffNotReady: '10s' } })
    await world.healthy(declared(SHARD), await world.git.revert())
  })

  test('a shard that Git no longer declares goes, and so does the last one with its Application', {
    timeout: 400_000,
  }, async () => {
    await world.healthy(
      declared(SHARD),
      await world.git.commit('One more', { ...shard('south', '10s'), ...list('north', 'south') }),
    )
    await world.healthy(
      declared(SHARD),
      await world.git.commit('One less', { [inDeclared(SHARD, 'south.yaml')]: undefined, ...list('north') }),
    )
    await expect(live('south')).rejects.toThrow('404')
    await world.git.commit('None', {
      [inDeclared(SHARD, 'north.yaml')]: undefined,
      [inDeclared(SHARD, 'kustomization.yaml')]: undefined,
    })
    await expect.poll(() => world.application(declared(SHARD)), PATIENCE).toBeUndefined()
    await expect(live('north')).rejects.toThrow('404')
  })

  /** GITOPS-32, GITOPS-34. */
  test('the revert of a release with one more namespace and account waits for no confirmation: these stay, all else goes, and it is Synced', {
    timeout: 400_000,
  }, async () => {
    const overlay = 'kustomize/overlays/dev'
    const metadata = (name: string) => ({ name, namespace: NAMESPACE })
    const later = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'later' } },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata('later') },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('later'), data: {} },
    ]
    const list = join(overlay, 'kustomization.yaml')
    const commit = await world.git.commit('A later release', {
      [join(overlay, 'later.yaml')]: later.map((object) => JSON.stringify(object)).join('\n---\n'),
      [list]: (await world.git.read(list)).replace(/^resources:$/m, 'resources:\n  - later.yaml'),
    })
    await world.healthy(APPLICATION, commit)
    await world.healthy(APPLICATION, await world.git.revert())
    const found = async (kind: string) =>
      (
        await world.cluster.kubectl(
          'get',
          kind,
          'later',
          `--namespace=${NAMESPACE}`,
          '--ignore-not-found',
          '--output=name',
        )
      ).trim()
    expect(await found('configmap')).toBe('')
    expect(await found('serviceaccount')).toBe('serviceaccount/later')
    expect(await found('namespace')).toBe('namespace/later')
  })

  /** GITOPS-15. */
  test('attack: a committer of a declared folder asks for rights, pods, Secrets, a task, a project, and for namespaces that are not the platform’s to give', {
    timeout: 400_000,
  }, async () => {
    await world.cluster.kubectl('create', 'namespace', 'team-b')
    const meta = (name: string, namespace = NAMESPACE) => ({ name, namespace })
    const forbidden = [
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: meta('attack-binding'),
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'committer' }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'attack-everywhere' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'committer' }],
      },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: meta('attack-pod'),
        spec: { serviceAccountName: 'hyperfleet-clusterpool', containers: [{ name: 'shell', image: 'busybox' }] },
      },
      { apiVersion: 'v1', kind: 'Secret', metadata: meta('attack-secret'), stringData: { token: 'mine' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta('attack-config'), data: {} },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'attack-namespace' } },
      {
        apiVersion: 'hyperfleet.redhat.com/v1alpha1',
        kind: 'AdapterTask',
        metadata: meta('attack-task'),
        spec: { adapter: { name: 'attack' }, resourceType: 'clusters', serviceAccountName: 'hyperfleet-clusterpool' },
      },
      {
        apiVersion: 'hive.openshift.io/v1',
        kind: 'ClusterDeployment',
        metadata: meta('attack-cluster'),
        spec: { clusterName: 'attack', baseDomain: 'example.com', platform: { baremetal: {} } },
      },
      {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'AppProject',
        metadata: meta('attack-project', 'argocd'),
        spec: { sourceRepos: ['*'] },
      },
      { apiVersion: 'hive.openshift.io/v1', kind: 'ClusterClaim', metadata: meta('attack-argocd', 'argocd') },
      { apiVersion: 'hive.openshift.io/v1', kind: 'ClusterClaim', metadata: meta('attack-kube', 'kube-system') },
      {
        apiVersion: 'hive.openshift.io/v1',
        kind: 'ClusterClaim',
        metadata: meta('attack-team', 'team-b'),
        spec: { clusterPoolName: 'theirs' },
      },
    ]
    await refusesAll(declared('attack'), (file) => inDeclared('attack', file), forbidden)
  })

  /** GITOPS-21. */
  test('attack: a committer of a folder of tasks asks for pods, Secrets, kinds of Muster that are declared elsewhere, and other namespaces', {
    timeout: 400_000,
  }, async () => {
    const meta = (name: string, namespace = NAMESPACE) => ({ name, namespace })
    const subjects = [{ kind: 'ServiceAccount', name: 'attack', namespace: NAMESPACE }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' }
    const binding = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', roleRef, subjects }
    await refusesAll(task('attack'), (file) => inTask('attack', file), [
      { apiVersion: 'v1', kind: 'Pod', metadata: meta('attack-pod'), spec: { containers: [] } },
      { apiVersion: 'v1', kind: 'Secret', metadata: meta('attack-secret'), stringData: { token: 'mine' } },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'attack-namespace' } },
      { apiVersion: 'hive.openshift.io/v1', kind: 'ClusterClaim', metadata: meta('attack-claim') },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta('attack-account', 'default') },
      { ...binding, metadata: meta('attack-argocd', 'argocd') },
      { ...binding, metadata: meta('attack-kube', 'kube-system') },
    ])
  })

  /** GITOPS-38: by each way in which Argo CD writes, which the committer chooses by an annotation. */
  test('attack: a committer of a declared folder approves rollouts, has finalizers taken away, and takes a cluster for a claim', {
    timeout: 400_000,
  }, async () => {
    const APPROVAL = 'fleet.nationtech.io/approve-batch'
    const OPTIONS = 'argocd.argoproj.io/sync-options'
    const FINALIZERS = ['fleet.nationtech.io/finalizer']
    const ways: Readonly<Record<string, object>> = {
      applied: {},
      patched: { [OPTIONS]: 'ServerSideApply=false' },
      replaced: { [OPTIONS]: 'Replace=true' },
      // What a person has applied beside Git, Argo CD first applies in the name of that person's tool.
      adopted: {},
    }
    const program = (name: string, annotations: object) => ({
      apiVersion: 'fleet.nationtech.io/v1alpha1',
      kind: 'Deployment',
      metadata: { name, namespace: NAMESPACE, annotations },
      spec: {
        targetSelector: { matchLabels: { role: 'none' } },
        score: { type: 'Process', data: { command: ['true'] } },
      },
    })
    const programs = (more: object) => Object.keys(ways).map((name) => program(name, more))
    const claim = (spec: object) => ({
      apiVersion: 'hive.openshift.io/v1',
      kind: 'ClusterClaim',
      metadata: { name: 'taking', namespace: NAMESPACE },
      spec: { clusterPoolName: 'edge', ...spec },
    })
    const folder = (name: string, objects: readonly object[]) => ({
      [inDeclared(name, 'kustomization.yaml')]: 'resources:\n  - objects.yaml\n',
      [inDeclared(name, 'objects.yaml')]: objects.map((object) => JSON.stringify(object)).join('\n---\n'),
    })
    const gone = (name: string) => ({
      [inDeclared(name, 'kustomization.yaml')]: undefined,
      [inDeclared(name, 'objects.yaml')]: undefined,
    })
    const read = (kind: string, name: string) =>
      world.cluster
        .kubectl('get', kind, name, `--namespace=${NAMESPACE}`, '--output=json')
        .then((text) => JSON.parse(text) as KubeObject<{ namespace?: string }>)
    const PROGRAM = 'deployments.fleet.nationtech.io'
    const deployment = (name: string) => read(PROGRAM, name)
    const onDeployment = (verb: string, name: string, ...rest: readonly string[]) =>
      world.cluster.kubectl(verb, PROGRAM, name, `--namespace=${NAMESPACE}`, ...rest)
    const patch = (name: string, change: object) =>
      onDeployment('patch', name, '--type=merge', `--patch=${JSON.stringify(change)}`)
    /** What the sync of this commit said of each of so many objects. */
    const words = (application: string, commit: string, count: number): Promise<string> =>
      vi.waitFor(async () => {
        const { syncResult } = (await world.application(declared(application)))?.operationState ?? {}
        const done = (syncResult?.resources ?? []).filter(({ status }) => status !== undefined)
        if (syncResult?.revision !== commit || done.length < count)
          throw new Error(`${application} is not through with ${commit}: ${JSON.stringify(syncResult)}`)
        return done.map(({ name, message }) => `${name}: ${message}`).join('\n')
      }, PATIENCE)

    const first = await world.git.commit('Programs, and a claim', {
      ...folder('approving', programs({})),
      ...folder('taking', [claim({})]),
    })
    for (const application of ['approving', 'taking']) await world.applied(declared(application), first)
    // As their operator does, which does not run here.
    for (const name of Object.keys(ways)) await patch(name, { metadata: { finalizers: FINALIZERS } })

    const file = join(await temporaryFolder('adopted'), 'object.json')
    await writeFile(file, JSON.stringify(program('adopted', {})))
    await world.cluster.kubectl('apply', `--filename=${file}`)

    const attack = await world.git.commit('Let it go on', {
      ...folder(
        'approving',
        Object.entries(ways).map(([name, way]) => program(name, { ...way, [APPROVAL]: '2@1' })),
      ),
      ...folder('taking', [claim({ namespace: 'of-another' })]),
    })
    const ofPrograms = await words('approving', attack, Object.keys(ways).length)
    const ofClaim = await words('taking', attack, 1)
    const state = async () => ({
      programs: await Promise.all(
        Object.keys(ways).map(async (name) => {
          const { metadata } = await deployment(name)
          return { name, approval: metadata.annotations?.[APPROVAL], finalizers: metadata.finalizers }
        }),
      ),
      taken: (await read('clusterclaims', 'taking')).spec.namespace,
    })
    expect(await state()).toEqual({
      programs: Object.keys(ways).map((name) => ({ name, approval: undefined, finalizers: FINALIZERS })),
      taken: undefined,
    })
    for (const name of ['applied', 'patched', 'adopted'])
      expect(ofPrograms).toMatch(new RegExp(`^${name}: .*may not set or remove ${APPROVAL}`, 'm'))
    // Two policies refuse this one, and the API server tells of either.
    expect(ofPrograms).toMatch(
      new RegExp(`^replaced: .*(may not set or remove ${APPROVAL}|the sync option Replace=true)`, 'm'),
    )
    expect(ofClaim).toContain('a commit may not say which cluster a claim has')

    // The mistake is taken back, a person approves, and the next commit leaves that alone.
    const back = await world.git.revert()
    for (const application of ['approving', 'taking']) await world.applied(declared(application), back)
    await onDeployment('annotate', 'applied', `${APPROVAL}=2@1`)
    const next = await world.git.commit(
      'Where it belongs',
      folder('approving', programs({ 'example.com/team': 'till' })),
    )
    await world.applied(declared('approving'), next)
    expect((await deployment('applied')).metadata.annotations).toMatchObject({
      [APPROVAL]: '2@1',
      'example.com/team': 'till',
    })

    for (const name of Object.keys(ways)) await patch(name, { metadata: { finalizers: null } })
    await world.git.commit('None', {
      ...gone('approving'),
      ...gone('taking'),
    })
    for (const application of ['approving', 'taking'])
      await expect.poll(() => world.application(declared(application)), PATIENCE).toBeUndefined()
  })

  /**
   * An environment `stage` that can be Healthy here: what `dev` has, whose pods need no volumes and no database, and one object more, by
   * which it is told from that. The delivered stage is Healthy in test/e2e/kind/upgrade.test.ts.
   */
  const commitStage = async (name: string): Promise<void> => {
    const stage = 'kustomize/overlays/stage'
    await rm(join(world.git.folder, stage), { recursive: true })
    await cp(join(world.git.folder, OVERLAY), join(world.git.folder, stage), { recursive: true })
    const list = join(stage, 'kustomization.yaml')
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NAMESPACE }, data: {} }
    await world.git.commit('An environment stage', {
      [join(stage, 'more.yaml')]: JSON.stringify(object),
      [list]: (await world.git.read(list)).replace(/^resources:$/m, 'resources:\n  - more.yaml'),
    })
  }

  // Journey 1
  // Journey 2
  test('docs/gitops.md and docs/gitops-declare.md: their commands do what they say, and the folders that they push are Applications', {
    timeout: 900_000,
  }, async () => {
    // What Argo CD already says of the environment that the cluster has must not pass for what the page comes to.
    await world.install()
    await commitStage('of-stage')
    const checkout = await world.git.clone()
    for (const folder of ['kustomize/declared', 'kustomize/tasks'])
      await cp(join(REPOSITORY, folder), join(checkout, folder), { recursive: true })
    const programs = [binariesFolder(CONTROL_PLANE)]
    for (const path of ['docs/gitops.md', 'docs/gitops-declare.md'])
      await runPage(await readPage(path), { kubeconfig: world.cluster.kubeconfig, checkout, programs, printed: {} })
    const more = ['get', 'configmap', 'of-stage', `--namespace=${NAMESPACE}`, '--output=name']
    expect((await world.cluster.kubectl(...more)).trim()).toBe('configmap/of-stage')
    for (const application of [declared('pool-edge'), task('cluster-config')])
      await expect.poll(() => world.application(application), PATIENCE).toBeDefined()
  })
})
