import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OwnControlPlane, sharedControlPlane, startControlPlane } from '#test/harness/index.ts'
import {
  collection,
  HIVE_PLURALS,
  HIVE_SAMPLES,
  type HiveKindName,
  type HiveSample,
  manifest,
  putHive,
} from '#test/worlds/clusterpool/hive-objects.ts'
import { muster } from './run.ts'

/** A cluster with Hive's kinds and objects, in the namespace `pools`. */
let plane: OwnControlPlane

beforeAll(async () => {
  plane = await startControlPlane({ crds: false, parts: ['etcd', 'kube-apiserver'] })
  await putHive(plane)
}, 120_000)

afterAll(() => plane?.stop())

const run = (...args: readonly string[]) => muster(['migrate', 'hive', `--kubeconfig=${plane.kubeconfig}`, ...args])

// Journey 7
// GITOPS-30
test('each object of Hive’s is printed with what Muster would do with it, and none is touched', async () => {
  const versions = async () => {
    const lists = await Promise.all(
      (Object.keys(HIVE_PLURALS) as HiveKindName[]).map((kind) =>
        plane.rest<{ items: readonly { metadata: { resourceVersion: string } }[] }>('GET', collection(kind, 'pools')),
      ),
    )
    return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.resourceVersion))
  }
  const before = await versions()
  expect(await run('--dry-run')).toMatchInlineSnapshot(`
    {
      "code": 0,
      "output": "ClusterDeploymentCustomization pools/free: applies as it is
        spec.installConfigPatches[0]: Hive adds /metadata/name where it is missing, Muster does not use the customization then: look with muster pool render
    ClusterDeploymentCustomization pools/used: applies later
        it is used by edge-x7k2p: apply it at Muster when that is gone
        spec.installerManifestPatches is kept, and nothing acts on it
        spec.installConfigPatches[0]: the path metadata/name has no slash at its beginning: Hive adds a field of that name at the top, Muster reads /metadata/name
    ClusterPool pools/edge: applies with these changes
        spec.inventory is a list, write: inventory: {"ClusterDeploymentCustomizations":[{"name":"free"},{"name":"used"}]}
        spec.customizationRef: Hive takes the manifest patches of that customization, Muster its patches of the install-config
    ClusterPool pools/plain: applies as it is
        spec.skipMachinePools is kept, and nothing acts on it
    ClusterPool pools/strange: applies with these changes
        refused by the API server: spec: runningCount must be at most size: there are no more clusters to run
        spec.fieldOfTomorrow is not known, take it out: the API server would drop it
    ClusterClaim pools/assigned: stays with Hive
        it has the cluster in namespace edge-x7k2p, which Hive made: let it end there, and claim anew at Muster
    ClusterClaim pools/waiting: applies as it is
        Hive makes a cluster for it as long as it is there: delete it there before it is applied at Muster
    ClusterDeployment pools/edge-x7k2p: stays with Hive
        its cluster was made by Hive, and only Hive can delete it: at Muster it would be registered as a new cluster and installed again
    ClusterDeploymentCustomization: 1 as it is, 1 later
    ClusterPool: 1 as it is, 2 with changes
    ClusterClaim: 1 as it is, 1 stays with Hive
    ClusterDeployment: 1 stays with Hive
    Nothing was changed. What to do next: docs/migrate-hive.md",
    }
  `)
  expect(await versions()).toEqual(before)
})

interface Judged {
  readonly kind: HiveKindName
  readonly name: string
  readonly verdict: string
  readonly notes: readonly string[]
}

// GITOPS-30
test('what applies as it is, and nothing else, is taken strictly by Muster’s own definitions', async () => {
  const { output } = await run('--dry-run', '--output=json')
  const judged = JSON.parse(output) as readonly Judged[]
  expect(judged.map(({ name }) => name).toSorted()).toEqual(HIVE_SAMPLES.map(({ name }) => name).toSorted())
  const ours = await sharedControlPlane()
  const namespace = await ours.namespace('from-hive')
  for (const { kind, name, verdict, notes } of judged.filter(({ verdict }) => verdict !== 'stays with Hive')) {
    const sample = HIVE_SAMPLES.find((each) => each.kind === kind && each.name === name) as HiveSample
    const object = manifest(sample)
    const path = `${collection(kind, namespace)}?dryRun=All&fieldValidation=Strict`
    const taken = await ours.rest('POST', path, object).then(
      () => true,
      () => false,
    )
    const changes = notes.filter((note) => /refused|not known|is a list/.test(note))
    expect([name, taken]).toEqual([name, changes.length === 0])
    if (verdict === 'as it is') expect([name, taken]).toEqual([name, true])
  }
})

// GITOPS-30
test('it is not said without --dry-run, nor of a cluster without such kinds', async () => {
  expect(await run()).toMatchInlineSnapshot(`
    {
      "code": 2,
      "output": "muster: --dry-run: write it: the command only looks, and docs/migrate-hive.md says what people do",
    }
  `)
  const empty = await startControlPlane({ crds: false, parts: ['etcd', 'kube-apiserver'] })
  try {
    const { code, output } = await muster(['migrate', 'hive', '--dry-run', `--kubeconfig=${empty.kubeconfig}`])
    expect([code, output.replace(empty.server, 'SERVER')]).toMatchInlineSnapshot(`
      [
        1,
        "muster: SERVER has no kinds of Hive: name a cluster that has, with --kubeconfig and --context",
      ]
    `)
  } finally {
    await empty.stop()
  }
}, 60_000)

// GITOPS-55
test.each([
  ['migrate', 'hive', '--dry-run'],
  ['adapter', 'orphans'],
  ['fleet', 'drill', '--nats-url=nats://127.0.0.1:9'],
])('in a namespace that is not there nothing was looked at: muster %s %s', async (...args) => {
  const { code, output } = await muster([...args, '--namespace=nowhere', `--kubeconfig=${plane.kubeconfig}`])
  expect([code, output.replace(plane.server, 'SERVER')]).toEqual([
    3,
    'muster: --namespace: SERVER has no namespace nowhere: write another one, or --context',
  ])
})

// GITOPS-56
test('attack: of the cluster that Muster works on it prints nothing that could be deleted by the page’s next line', async () => {
  const ours = await sharedControlPlane()
  const namespace = await ours.namespace('not-hive')
  const object = {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterDeploymentCustomization',
    metadata: { name: 'oslo', namespace },
    spec: { installConfigPatches: [{ op: 'replace', path: '/metadata/name', value: 'oslo' }] },
  }
  const path = collection('ClusterDeploymentCustomization', namespace)
  await ours.rest('POST', path, object)
  const command = ['migrate', 'hive', '--dry-run', '--output=manifests', `--namespace=${namespace}`]
  const look = () => muster([...command, `--kubeconfig=${ours.kubeconfig}`])
  expect(await look()).toMatchObject({ code: 0, output: expect.stringContaining('name: oslo') })
  const condition = { status: 'False', reason: 'Any', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const conditions = ['Ready', 'Reconciling', 'Stalled'].map((type) => ({ type, ...condition }))
  const { metadata } = await ours.rest<{ metadata: object }>('GET', `${path}/oslo`)
  await ours.rest('PUT', `${path}/oslo/status`, { ...object, metadata, status: { conditions } })
  const { code, output } = await look()
  expect([code, output.replace(ours.server, 'SERVER')]).toEqual([
    1,
    `muster: ClusterDeploymentCustomization ${namespace}/oslo of SERVER is Muster’s already: name the cluster with Hive, with --kubeconfig and --context`,
  ])
})
