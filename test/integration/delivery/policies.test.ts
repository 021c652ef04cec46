/**
 * kustomize/base/policies, deletion-guards and pinned-images on a real API server, with the whole suite at work below them: what they
 * refuse, to whom and with which words, and that they stand in no controller's way.
 */
import { join } from 'node:path'
import type { TObject } from 'typebox'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { type ClusterDeployment, clusterDeploymentKind } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { type Kubectl, kubectl } from '#hack/cluster/kubectl.ts'
import { NODE } from '#hack/cluster/local/node.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { TASK_ACCOUNTS } from '#hack/muster/managers.ts'
import { ProcessError } from '#hack/process/errors.ts'
import type { KubeObject } from '#operator/index.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type Suite, startSuite } from '#test/harness/suite.ts'

const NAMESPACE = 'hyperfleet-system'
const HIVE = '/apis/hive.openshift.io/v1'

/** Pools take their time on a busy machine. */
const PATIENCE = { timeout: 180_000, interval: 200 }

let cluster: OwnControlPlane
let suite: Suite
let run: Kubectl

beforeAll(async () => {
  cluster = await startControlPlane({
    parts: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'],
  })
  run = kubectl(join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl'), [
    `--kubeconfig=${cluster.kubeconfig}`,
  ])
  await cluster.rest('POST', '/api/v1/nodes', NODE)
  suite = await startSuite({ cluster, machines: { till: 'example.com/role=greeter' } })
  for (const component of ['deletion-guards', 'pinned-images'])
    await run(['apply', '--server-side', '-k', `kustomize/components/${component}`])
  const bind = (role: string, user: string) =>
    run(['create', 'clusterrolebinding', `${user}-${role}`, `--clusterrole=${role}`, `--user=${user}`])
  await bind('muster-editor', 'editor')
  await bind('muster-fleet-editor', 'editor')
  await bind('muster-rollout-approver', 'approver')
  for (const folder of ['samples', 'samples/fleet', 'samples/claim']) await suite.apply(folder)
}, 400_000)

afterAll(async () => {
  await suite?.stop()
  await cluster?.stop()
})

/** `allowed`, or the words of the policy that refuses. As an administrator when no user is named. */
const said = async (args: readonly string[], as?: string, object?: object): Promise<string> => {
  const who = as === undefined ? [] : [`--as=${as}`]
  try {
    await run([...args, ...who], { input: object === undefined ? '' : JSON.stringify(object) })
    return 'allowed'
  } catch (error) {
    if (!(error instanceof ProcessError)) throw error
    return error.message.replace(/^.*denied request: /s, '')
  }
}

/** As it would be, without doing it. */
const TRY = '--dry-run=server'

const claimedCluster = async (): Promise<ClusterDeployment> => {
  const { spec } = await cluster.rest<ClusterClaim>('GET', `${HIVE}/namespaces/${NAMESPACE}/clusterclaims/demo`)
  return cluster.rest('GET', `${HIVE}/namespaces/${spec.namespace}/clusterdeployments/${spec.namespace}`)
}

const unclaimedCluster = async (): Promise<ClusterDeployment> => {
  const { items } = await cluster.rest<{ items: ClusterDeployment[] }>('GET', `${HIVE}/clusterdeployments`)
  const found = items.find(({ spec }) => spec.clusterPoolRef?.claimName === undefined)
  if (found === undefined) throw new Error('every cluster of the pool is claimed')
  return found
}

/** kubectl's words for one cluster. */
const named = ({ metadata }: ClusterDeployment): string[] => [
  'clusterdeployment',
  metadata.name,
  '-n',
  metadata.namespace ?? '',
]

const merge = (patch: object): string[] => ['--type=merge', `--patch=${JSON.stringify(patch)}`]

test('the API server finds no mistake in a policy', { timeout: PATIENCE.timeout }, async () => {
  interface Policy {
    readonly metadata: { readonly name: string; readonly generation: number }
    readonly status?: { readonly observedGeneration?: number; readonly typeChecking?: object }
  }
  const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
  await vi.waitFor(
    async () => {
      const { items } = await cluster.rest<{ items: Policy[] }>('GET', path)
      expect(items.length).toBeGreaterThan(8)
      for (const { metadata, status } of items)
        expect({ name: metadata.name, ...status }).toEqual({
          name: metadata.name,
          observedGeneration: 1,
          typeChecking: {},
        })
    },
    { timeout: 20_000, interval: 500 },
  )
})

test('with every policy on, a pool is filled, a claim gets its cluster, and a rollout comes to a device', {
  timeout: 400_000,
}, async () => {
  const ready = (kind: string, name: string, condition: string, namespace = NAMESPACE) =>
    run(['wait', `--for=condition=${condition}`, kind, name, '-n', namespace, '--timeout=180s'])
  await ready('clusterclaim', 'demo', 'ClusterRunning')
  await ready('clusterpool', 'edge', 'Ready')
  await ready('fleetdep', 'greeter', 'Ready', 'default')
})

describe('a claimed cluster', () => {
  test('attack: it is deleted over its claim’s head, by an administrator', async () => {
    const cluster = await claimedCluster()
    const words = await said(['delete', ...named(cluster), TRY])
    expect(words.replaceAll(cluster.metadata.name, 'CLUSTER')).toMatchInlineSnapshot(
      `"the cluster is claimed by demo: delete that ClusterClaim in namespace hyperfleet-system instead, or confirm with "kubectl annotate clusterdeployment CLUSTER -n CLUSTER muster.dev/confirm-deletion=true""`,
    )
  })

  test('is deleted when that was confirmed', async () => {
    const cluster = named(await claimedCluster())
    await run(['annotate', ...cluster, 'muster.dev/confirm-deletion=true'])
    expect(await said(['delete', ...cluster, TRY])).toBe('allowed')
  })

  test('keeps its pool', async () => {
    expect(await said(['delete', 'clusterpool', 'edge', '-n', NAMESPACE, TRY])).toMatchInlineSnapshot(
      `"this pool has claimed clusters (1): delete their ClusterClaims first, or confirm with "kubectl annotate clusterpool edge -n hyperfleet-system muster.dev/confirm-deletion=true""`,
    )
  })
})

test('an unclaimed cluster is deleted without a question', async () => {
  expect(await said(['delete', ...named(await unclaimedCluster()), TRY], 'editor')).toBe('allowed')
})

describe('a finalizer of Muster', () => {
  const withoutFinalizers = merge({ metadata: { finalizers: null } })

  test('attack: an editor takes it away', async () => {
    const cluster = named(await unclaimedCluster())
    expect(await said(['patch', ...cluster, ...withoutFinalizers, TRY], 'editor')).toMatchInlineSnapshot(
      `"the finalizer hive.openshift.io/customization-lease goes when Muster has cleaned up. What holds it is in status.conditions; an administrator with the right to update clusterdeployments/finalizers can take it away"`,
    )
    const greeter = ['fleetdep', 'greeter', '-n', 'default']
    expect(await said(['patch', ...greeter, ...withoutFinalizers, TRY], 'editor')).toMatchInlineSnapshot(
      `"the finalizer fleet.nationtech.io/finalizer goes when Muster has cleaned up. What holds it is in status.conditions; an administrator with the right to update deployments/finalizers can take it away"`,
    )
  })

  test('is taken away by an administrator, and does not keep an editor from editing', async () => {
    const cluster = named(await unclaimedCluster())
    expect(await said(['patch', ...cluster, ...withoutFinalizers, TRY])).toBe('allowed')
    expect(await said(['label', ...cluster, 'team=edge', TRY], 'editor')).toBe('allowed')
  })
})

describe('who has which cluster', () => {
  const claim = (spec: object) => ({
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterClaim',
    metadata: { name: 'other', namespace: NAMESPACE },
    spec: { clusterPoolName: 'edge', ...spec },
  })

  test('is not written by an editor', async () => {
    const cluster = named(await unclaimedCluster())
    const take = merge({ spec: { clusterPoolRef: { claimName: 'mine' } } })
    expect(await said(['patch', ...cluster, ...take, TRY], 'editor')).toMatchInlineSnapshot(
      `"spec.installed and spec.clusterPoolRef are written by controllers: make a ClusterClaim to get a cluster of a pool"`,
    )
    const pretend = merge({ spec: { installed: false } })
    expect(await said(['patch', ...named(await claimedCluster()), ...pretend, TRY], 'editor')).toContain(
      'are written by controllers',
    )
    const waiting = claim({ clusterPoolName: 'a-pool-to-come' })
    expect(await said(['create', '-f', '-'], 'editor', waiting)).toBe('allowed')
    const assign = merge({ spec: { namespace: (await unclaimedCluster()).metadata.name } })
    expect(
      await said(['patch', 'clusterclaim', 'other', '-n', NAMESPACE, ...assign, TRY], 'editor'),
    ).toMatchInlineSnapshot(
      `"spec.namespace is written by the controller when the claim gets its cluster: wait for it"`,
    )
    await run(['delete', 'clusterclaim', 'other', '-n', NAMESPACE])
  })

  /** GITOPS-17. */
  test('attack: an editor makes a ClusterDeployment that says it is of a pool, or installed', async () => {
    const { spec } = await unclaimedCluster()
    const own = (more: object) => ({
      apiVersion: 'hive.openshift.io/v1',
      kind: 'ClusterDeployment',
      metadata: { name: 'mine', namespace: NAMESPACE },
      spec: { clusterName: 'mine', baseDomain: 'example.com', platform: spec.platform, ...more },
    })
    const make = (more: object) => said(['create', '-f', '-', TRY], 'editor', own(more))
    const { clusterName: _, claimName: __, ...pool } = (spec.clusterPoolRef ?? {}) as Record<string, unknown>
    expect(await make({ clusterPoolRef: pool })).toContain('are written by controllers')
    expect(await make({ installed: true })).toContain('are written by controllers')
    expect(await make({ provisioning: { imageSetRef: { name: 'openshift-v4.20' } } })).toBe('allowed')
  })

  /** GITOPS-18: a field that comes to the kind later is a subject's to write only if the policy says so. */
  test('a claim’s subject may write the fields of a ClusterDeployment that are left to it, and no other', async () => {
    const { spec } = await cluster.rest<{ spec: { validations: { expression: string }[] } }>(
      'GET',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/muster-claim-owners',
    )
    const held = spec.validations.map(({ expression }) => expression).join()
    const fields = Object.keys((clusterDeploymentKind().spec as TObject).properties)
    expect(fields.filter((field) => !new RegExp(`after\\.\\??${field} == `).test(held))).toEqual([
      'powerState',
      'hibernateAfter',
    ])
  })

  /** GITOPS-18, CLAIM-6. */
  test('attack: a claim’s subject has its Role name other Secrets', async () => {
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'owner' }]
    await run(['patch', 'clusterclaim', 'demo', '-n', NAMESPACE, ...merge({ spec: { subjects } })])
    const patch = async (spec: object) =>
      said(['patch', ...named(await claimedCluster()), ...merge({ spec }), TRY], 'owner')
    // The Role comes with the subjects, a moment later.
    await vi.waitFor(async () => expect(await patch({ powerState: 'Hibernating' })).toBe('allowed'), PATIENCE)
    expect(await patch({ hibernateAfter: '2h' })).toBe('allowed')
    for (const spec of [
      { clusterMetadata: { adminKubeconfigSecretRef: { name: 'pull-secret' }, clusterID: 'x', infraID: 'x' } },
      { pullSecretRef: { name: 'other' } },
      { provisioning: { installConfigSecretRef: { name: 'other' } } },
      { preserveOnDelete: true },
    ])
      expect(await patch(spec)).toContain('ask an administrator of the pool for anything else')
    const { metadata: own } = await claimedCluster()
    const withFinalizer = (name: string) => ({ finalizers: [...(own.finalizers ?? []), name] })
    for (const metadata of [
      { labels: { 'device.fleet.nationtech.io/mine': 'yes' } },
      { annotations: { 'example.com/note': 'mine' } },
      withFinalizer('example.com/for-ever'),
    ]) {
      const args = ['patch', ...named(await claimedCluster()), ...merge({ metadata }), TRY]
      expect(await said(args, 'owner'), JSON.stringify(metadata)).toContain('and no metadata')
    }
    // The controller that makes clusters into devices keeps each until its agent is gone.
    const kept = withFinalizer('fleet.nationtech.io/cluster-device')
    const device = 'system:serviceaccount:hyperfleet-system:hyperfleet-clusterdevice'
    expect(await said(['patch', ...named(await claimedCluster()), ...merge({ metadata: kept }), TRY], device)).toBe(
      'allowed',
    )
  })

  test('is asked for by a claim', async () => {
    expect(await said(['create', '-f', '-', TRY], 'editor', claim({}))).toBe('allowed')
  })

  test('attack: a claim, or an admin’s binding, names all users', async () => {
    const everybody = claim({ subjects: [{ kind: 'Group', name: 'system:authenticated' }] })
    expect(await said(['create', '-f', '-', TRY], 'editor', everybody)).toMatchInlineSnapshot(
      `"system:authenticated is everybody, and the subjects of a claim may read the admin kubeconfig of its cluster: name the people, groups or ServiceAccounts who are meant"`,
    )
    const group = (name: string) => [
      'create',
      'rolebinding',
      'admins',
      '-n',
      NAMESPACE,
      '--clusterrole=hive-cluster-pool-admin',
      `--group=${name}`,
      TRY,
    ]
    expect(await said(group('system:authenticated'))).toMatchInlineSnapshot(
      `"system:authenticated is everybody, and admins of a pool may read the Secrets of its clusters: name the people, groups or ServiceAccounts who are meant"`,
    )
    expect(await said(group('edge-team'))).toBe('allowed')
  })
})

describe('a rollout that waits for a person', () => {
  const annotate = (text: string) => ['annotate', 'fleetdep', 'greeter', '-n', 'default', '--overwrite', text, TRY]

  test('attack: its author approves or aborts it; who may approve can', async () => {
    const approve = annotate('fleet.nationtech.io/approve-batch=2@1')
    expect(await said(approve, 'editor')).toMatchInlineSnapshot(
      `"only people who may update deployments/approval may set or remove fleet.nationtech.io/approve-batch: ask one of them, or an administrator to bind the ClusterRole muster-rollout-approver to you in this namespace"`,
    )
    expect(await said(approve, 'approver')).toBe('allowed')
    expect(await said(annotate('fleet.nationtech.io/abort-revision=1'), 'editor')).toContain('deployments/approval')
  })

  test('is approved, not written, by who may only approve', async () => {
    const patch = (change: object) => ['patch', 'fleetdep', 'greeter', '-n', 'default', ...merge(change), TRY]
    const approval = { annotations: { 'fleet.nationtech.io/approve-batch': '2@1' } }
    expect(await said(patch({ metadata: approval }), 'approver')).toBe('allowed')
    const score = { data: { command: ['/bin/true'] } }
    expect(await said(patch({ metadata: approval, spec: { score } }), 'approver')).toMatchInlineSnapshot(
      `"with the ClusterRole muster-rollout-approver you may approve, resume, abort and overrule a rollout by its annotations, and change nothing else: to write a Deployment, have muster-fleet-editor bound to you in this namespace"`,
    )
    const others: readonly object[] = [
      { spec: { revisionHistoryLimit: 7 } },
      { metadata: { labels: { example: 'x' } } },
      { metadata: { annotations: { 'example.com/ticket': '17' } } },
    ]
    for (const change of others)
      expect({ change, said: await said(patch(change), 'approver') }).toEqual({
        change,
        said: expect.stringContaining('you may approve'),
      })
    for (const change of others) expect(await said(patch(change), 'editor')).toBe('allowed')
    // Another policy guards finalizers too, and either of them may be the one that is named.
    for (const finalizers of [['example.com/keep'], null])
      expect(await said(patch({ metadata: { finalizers } }), 'approver')).toMatch(/you may approve|finalizer/)
  })

  test('can be annotated otherwise by its editor', async () => {
    expect(await said(annotate('example.com/ticket=17'), 'editor')).toBe('allowed')
  })
})

/** GITOPS-38. */
describe('a commit that Argo CD syncs', () => {
  const ARGO = 'system:serviceaccount:argocd:argocd-application-controller'
  const greeter = ['fleetdep', 'greeter', '-n', 'default']
  const annotate = (...rest: readonly string[]) => ['annotate', ...greeter, '--overwrite', ...rest, TRY]
  const APPROVAL = 'fleet.nationtech.io/approve-batch=2@1'
  const byName = (name: string) => `--field-manager=${name}`
  /** As an object that Argo CD knows as its own. */
  const track = () => run(['annotate', ...greeter, '--overwrite', 'argocd.argoproj.io/tracking-id=here-greeter:x'])

  beforeAll(async () => {
    await run(['create', 'clusterrolebinding', 'argocd', '--clusterrole=cluster-admin', `--user=${ARGO}`])
  })

  test('attack: approves a rollout, by its account or under the names by which it applies; a person may, and a commit where the namespace says so', async () => {
    expect(await said(annotate(APPROVAL), ARGO)).toMatchInlineSnapshot(
      `"a commit may not set or remove fleet.nationtech.io/approve-batch: leave it out, and ask a person who has the ClusterRole muster-rollout-approver to set or remove it with kubectl annotate. To let commits approve, an administrator labels the namespace default with muster.dev/commits-approve=true"`,
    )
    for (const step of ['resume=1', 'abort-revision=1', 'overrule-revision=1'])
      expect(await said(annotate(`fleet.nationtech.io/${step}`, byName('argocd-controller')))).toContain(
        'a commit may not set or remove',
      )
    const applied = annotate(APPROVAL, byName('kubectl-client-side-apply'))
    expect(await said(applied)).toBe('allowed')
    await track()
    expect(await said(applied)).toContain('a commit may not set or remove')
    expect(await said(annotate(APPROVAL), 'approver')).toBe('allowed')
    expect(await said(annotate('example.com/ticket=17'), ARGO)).toBe('allowed')
    await run(['label', 'namespace', 'default', 'muster.dev/commits-approve=true'])
    expect(await said(annotate(APPROVAL), ARGO)).toBe('allowed')
    await run(['label', 'namespace', 'default', 'muster.dev/commits-approve-'])
  })

  test('keeps what a person has approved, and what was in Git before', async () => {
    await run(annotate(APPROVAL).filter((arg) => arg !== TRY))
    expect(await said(annotate('example.com/ticket=17', byName('argocd-controller')))).toBe('allowed')
    expect(await said(annotate(APPROVAL, byName('argocd-controller')))).toBe('allowed')
    await run(['annotate', ...greeter, 'fleet.nationtech.io/approve-batch-'])
  })

  test('attack: makes a Deployment that is approved from the beginning', async () => {
    const { apiVersion, kind, spec } = JSON.parse(
      await run(['get', ...greeter, '--output=json']),
    ) as KubeObject<object> & { kind: string; apiVersion: string }
    const annotations = { 'fleet.nationtech.io/approve-batch': '2@1' }
    const object = { apiVersion, kind, metadata: { name: 'approved', namespace: 'default', annotations }, spec }
    const apply = ['apply', '--server-side', '-f', '-', TRY]
    expect(await said([...apply, byName('argocd-controller')], undefined, object)).toContain(
      'a commit may not set or remove',
    )
    expect(await said(apply, undefined, object)).toBe('allowed')
  })

  test('attack: takes finalizers away', async () => {
    const remove = ['patch', ...greeter, ...merge({ metadata: { finalizers: null } }), TRY]
    expect(await said(remove, ARGO)).toMatchInlineSnapshot(
      `"a commit may not remove the finalizer fleet.nationtech.io/finalizer, which Muster removes when it has cleaned up: leave metadata.finalizers out"`,
    )
    expect(await said([...remove, byName('argocd-controller')])).toContain('a commit may not remove')
    const pool = ['patch', 'clusterpool', 'edge', '-n', NAMESPACE, ...merge({ metadata: { finalizers: null } }), TRY]
    expect(await said(pool, ARGO)).toContain('a commit may not remove')
  })

  test('attack: says which cluster a claim has', async () => {
    const spec = { namespace: (await unclaimedCluster()).metadata.name }
    const take = ['patch', 'clusterclaim', 'waiting', '-n', NAMESPACE, ...merge({ spec }), TRY]
    const claim = (more: object, labels = {}) => ({
      apiVersion: 'hive.openshift.io/v1',
      kind: 'ClusterClaim',
      metadata: { name: 'waiting', namespace: NAMESPACE, labels },
      spec: { clusterPoolName: 'a-pool-to-come', ...more },
    })
    const create = ['create', '-f', '-', TRY]
    const restored = claim(spec, { 'hive.openshift.io/disable-creation-webhook-for-dr': 'true' })
    expect(await said(create, undefined, restored)).toBe('allowed')
    expect(await said(create, ARGO, restored)).toMatchInlineSnapshot(
      `"a commit may not say which cluster a claim has: leave spec.namespace out, which the controller writes"`,
    )
    expect(await said(['create', '-f', '-'], ARGO, claim({}))).toBe('allowed')
    expect(await said(take)).toBe('allowed')
    expect(await said([...take, byName('argocd-controller')])).toContain('which cluster a claim has')
    await run(['delete', 'clusterclaim', 'waiting', '-n', NAMESPACE])
  })

  test('attack: has the whole object replaced, by a sync option', async () => {
    const option = 'argocd.argoproj.io/sync-options=Prune=confirm, Replace=true'
    expect(await said(annotate(option))).toMatchInlineSnapshot(
      `"the sync option Replace=true would remove finalizers and approvals: leave it out of the annotation argocd.argoproj.io/sync-options"`,
    )
    expect(await said(annotate('argocd.argoproj.io/sync-options=Prune=confirm'))).toBe('allowed')
  })

  /** A right that a policy asks for is one that Argo CD has: each of these has its like in muster-declared, or lets no one do more by it. */
  test('is held by each policy that asks for a right on what a declared folder may hold', async () => {
    interface Policy {
      readonly metadata: { readonly name: string }
      readonly spec: {
        readonly matchConstraints: { readonly resourceRules: readonly { readonly resources: readonly string[] }[] }
      }
    }
    const held = [
      'clusterpools',
      'clusterclaims',
      'clusterdeploymentcustomizations',
      'deployments',
      'devices',
      'sentinelconfigs',
      '*',
      '*/*',
    ]
    const { items } = await cluster.rest<{ items: Policy[] }>(
      'GET',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    )
    const asking = items.filter(
      ({ spec }) =>
        JSON.stringify(spec).includes('authorizer.') &&
        spec.matchConstraints.resourceRules.some(({ resources }) => resources.some((one) => held.includes(one))),
    )
    expect(asking.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'muster-assigned-claims',
      'muster-finalizers',
      'muster-rollout-approvers',
      'muster-rollout-steps',
      // Of accounts of tasks alone.
      'muster-task-objects',
    ])
  })
})

test('attack: an editor writes or changes a task for an account that they may not act as', async () => {
  const path = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${NAMESPACE}/adaptertasks/cluster-config`
  const { apiVersion, kind, spec } = await cluster.rest<{ apiVersion: string; kind: string; spec: object }>('GET', path)
  const task = { apiVersion, kind, metadata: { name: 'another', namespace: NAMESPACE }, spec }
  const create = ['create', '-f', '-', TRY]
  expect(await said(create, 'editor', task)).toMatchInlineSnapshot(
    `"the task would act as the ServiceAccount hyperfleet-tasks/cluster-config, which you may not: name another one in spec.serviceAccountName, or be given the right to impersonate it"`,
  )
  const change = ['patch', 'adaptertask', 'cluster-config', '-n', NAMESPACE, ...merge({ spec: { suspend: true } }), TRY]
  expect(await said(change, 'editor')).toContain('the task would act as the ServiceAccount')
  const role = [
    'create',
    'role',
    'act',
    '-n',
    TASK_ACCOUNTS,
    '--verb=impersonate',
    '--resource=serviceaccounts',
    '--resource-name=cluster-config',
  ]
  await run(role)
  await run(['create', 'rolebinding', 'act', '-n', TASK_ACCOUNTS, '--role=act', '--user=editor'])
  await vi.waitFor(async () => expect(await said(create, 'editor', task)).toBe('allowed'), PATIENCE)
  expect(await said(change, 'editor')).toBe('allowed')
})

test('what runs in Muster’s namespace is named by digest', async () => {
  const workload = (image: string, namespace = NAMESPACE, more: object = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'one', namespace },
    spec: {
      selector: { matchLabels: { app: 'one' } },
      template: { metadata: { labels: { app: 'one' } }, spec: { containers: [{ name: 'one', image }], ...more } },
    },
  })
  const create = (object: object) => said(['create', '-f', '-', TRY], undefined, object)
  const digest = (digit: string) => `quay.io/hyperfleet/muster@sha256:${digit.repeat(64)}`
  expect(await create(workload('quay.io/hyperfleet/muster:v0.1.0'))).toMatchInlineSnapshot(
    `"container one runs quay.io/hyperfleet/muster:v0.1.0: name the image by its digest, with "npm run pin -- NAME=IMAGE@sha256:DIGEST" in the repository that is synced"`,
  )
  expect(await create(workload(digest('0')))).toContain('name the image by its digest')
  expect(await create(workload(digest('a')))).toBe('allowed')
  const first = { initContainers: [{ name: 'first', image: 'quay.io/hyperfleet/muster:v0.1.0' }] }
  expect(await create(workload(digest('a'), NAMESPACE, first))).toContain('container first runs')
  expect(await create(workload('quay.io/hyperfleet/muster:v0.1.0', 'default'))).toBe('allowed')
})

test('with every policy on, what is deleted goes, and leaves nothing', { timeout: 400_000 }, async () => {
  await run(['delete', 'clusterclaim', 'demo', '-n', NAMESPACE, '--timeout=120s'])
  await vi.waitFor(async () => {
    expect(await said(['delete', 'clusterpool', 'edge', '-n', NAMESPACE, '--wait=false'], 'editor')).toBe('allowed')
  }, PATIENCE)
  await run(['wait', '--for=delete', 'clusterpool/edge', '-n', NAMESPACE, '--timeout=180s'])
  await run(['delete', 'fleetdep', 'greeter', '-n', 'default', '--timeout=120s'])
  expect(await run(['get', 'clusterdeployments', '-A', '--ignore-not-found'])).toBe('')
})
