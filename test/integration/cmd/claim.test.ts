/** CLAIM-11: what `muster claim kubeconfig` prints, and what it says when it can't. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { printKubeconfig } from '#cmd/claim/kubeconfig.ts'
import { Failure, LookFailure } from '#cmd/failure.ts'
import { readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { DeepPartial } from '#operator/index.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { muster } from './run.ts'

let plane: ControlPlane
/** Of the claims. */
let pools: string
/** The kubeconfig of a ServiceAccount with the right to read claims, and what the subjects of some may read. */
let person: string
let folder: string

const HIVE = '/apis/hive.openshift.io/v1/namespaces'

const claim = async (name: string, { namespace, status }: { namespace?: string; status?: ClusterClaim['status'] }) => {
  const spec = { clusterPoolName: 'pool', ...(namespace !== undefined && { namespace }) }
  const metadata = { name, labels: { 'hive.openshift.io/disable-creation-webhook-for-dr': 'true' } }
  await plane.rest('POST', `${HIVE}/${pools}/clusterclaims`, {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterClaim',
    metadata,
    spec,
  })
  if (status !== undefined) await plane.rest('PATCH', `${HIVE}/${pools}/clusterclaims/${name}/status`, { status })
}

/** A claim with a cluster in a namespace of its own, to which the person was let in. @returns the namespace */
const claimed = async (name: string, spec: DeepPartial<ClusterDeploymentSpec> = {}, status: object = {}) => {
  const namespace = await plane.namespace('claimed')
  await plane.rest('POST', `${HIVE}/${namespace}/clusterdeployments`, {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterDeployment',
    metadata: { name: namespace, labels: { 'hive.openshift.io/disable-creation-webhook-for-dr': 'true' } },
    spec: {
      baseDomain: 'example.com',
      clusterName: namespace,
      platform: { none: {} },
      clusterPoolRef: { namespace: pools, poolName: 'pool', claimName: name },
      ...spec,
    },
  })
  await plane.rest('PATCH', `${HIVE}/${namespace}/clusterdeployments/${namespace}/status`, { status })
  await claim(name, { namespace })
  return namespace
}

const ADMIN = { clusterMetadata: { adminKubeconfigSecretRef: { name: 'admin' } } }
const RUNNING = { powerState: 'Running' }

const letIn = async (namespace: string, ...rules: readonly string[]) => {
  await plane.kubectl('create', 'role', 'owner', ...rules, '-n', namespace)
  await plane.kubectl(
    'create',
    'rolebinding',
    'owner',
    '--role=owner',
    `--serviceaccount=${pools}:person`,
    '-n',
    namespace,
  )
}

const secret = (namespace: string, text: string) =>
  plane.rest('POST', `/api/v1/namespaces/${namespace}/secrets`, {
    metadata: { name: 'admin' },
    stringData: { kubeconfig: text },
  })

const ask = async (name: string, ...args: readonly string[]) => {
  const { code, output } = await muster(['claim', 'kubeconfig', name, '-n', pools, `--kubeconfig=${person}`, ...args])
  return { code, output: output.replaceAll(/(claimed|claims)-[0-9a-f]{8}/g, '$1') }
}

/** Why there is none for the person, as the command says it. */
const refusal = async (name: string, namespace = pools): Promise<string> => {
  const options = { namespace, write: undefined, kubeconfig: person, context: undefined }
  const failure = await printKubeconfig(name, options).then(
    () => new Error('it was printed'),
    (error: unknown) => error,
  )
  expect([Failure, LookFailure].some((kind) => failure instanceof kind)).toBe(true)
  return (failure as Error).message.replaceAll(/(claimed|claims)-[0-9a-f]{8}/g, '$1')
}

beforeAll(async () => {
  plane = await sharedControlPlane()
  pools = await plane.namespace('claims')
  folder = await temporaryFolder('claim')
  await plane.kubectl('create', 'serviceaccount', 'person', '-n', pools)
  await letIn(pools, '--verb=get', '--resource=clusterclaims')
  person = await plane.kubeconfigFor('person', pools)
})

describe('CLAIM-11: a claim with a cluster', () => {
  test('prints the kubeconfig, with which kubectl works, and writes it for its user alone', async () => {
    const namespace = await claimed('mine', ADMIN, RUNNING)
    await letIn(namespace, '--verb=get', '--resource=clusterdeployments,secrets')
    const text = await readFile(plane.kubeconfig, 'utf8')
    await secret(namespace, text)
    expect(await ask('mine')).toEqual({ code: 0, output: text.trim() })
    const file = join(folder, 'mine.kubeconfig')
    expect(await ask('mine', `--write=${file}`)).toEqual({ code: 0, output: '' })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await readKubeconfig(file)).clusters[0]?.cluster.server).toBe(plane.server)
    expect(await plane.kubectl(`--kubeconfig=${file}`, 'get', 'namespaces')).toContain(namespace)
    await writeFile(file, 'of others')
    expect(await ask('mine', `--write=${file}`)).toEqual({
      code: 1,
      output: `muster: --write: ${file} is there already: remove it, or name another file`,
    })
    expect(await readFile(file, 'utf8')).toBe('of others')
  })

  test('says what the cluster lacks, and that it sleeps', async () => {
    const condition = {
      type: 'Unreachable',
      status: 'Unknown',
      reason: 'NoKubeconfig',
      message: 'there is no Secret yet',
    }
    const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }]
    await letIn(await claimed('early', {}, { ...RUNNING, conditions }), '--verb=get', '--resource=clusterdeployments')
    expect(await refusal('early')).toMatchInlineSnapshot(
      `"cluster claimed has no kubeconfig yet: there is no Secret yet"`,
    )
    const why = 'the cluster has no kubeconfig: the provider locall, which its label names, has written none'
    const ready = { ...condition, type: 'Ready', status: 'False', message: why }
    const ofEarly = `${HIVE}/${pools}/clusterclaims/early/status`
    await plane.rest('PATCH', ofEarly, {
      status: { conditions: [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }] },
    })
    expect(await refusal('early')).toBe(`claim early: ${why}`)
    const asleep = await claimed('asleep', { ...ADMIN, powerState: 'Hibernating' }, { powerState: 'Hibernating' })
    await letIn(asleep, '--verb=get', '--resource=clusterdeployments,secrets')
    await secret(asleep, await readFile(plane.kubeconfig, 'utf8'))
    const { code, output } = await ask('asleep')
    expect(code).toBe(0)
    expect(output).toContain('sleeps; wake it: kubectl patch clusterdeployment')
  })

  test('says which right is missing', async () => {
    const namespace = await claimed('closed', ADMIN, RUNNING)
    expect(await refusal('closed')).toMatchInlineSnapshot(
      `"you may not read the cluster claimed of claim closed: its subjects may (spec.subjects), a moment after they got it (clusterdeployments.hive.openshift.io "claimed" is forbidden: User "system:serviceaccount:claims:person" cannot get resource "clusterdeployments" in API group "hive.openshift.io" in the namespace "claimed")"`,
    )
    await letIn(namespace, '--verb=get', '--resource=clusterdeployments')
    expect(await refusal('closed')).toMatchInlineSnapshot(
      `"you may not read the Secret admin of cluster claimed: the subjects of the claim may (spec.subjects), a moment after they got it (secrets "admin" is forbidden: User "system:serviceaccount:claims:person" cannot get resource "secrets" in API group "" in the namespace "claimed")"`,
    )
  })

  test('prints no kubeconfig that would have kubectl run programs, and none that is not there', async () => {
    const namespace = await claimed('strange', ADMIN, RUNNING)
    await letIn(namespace, '--verb=get', '--resource=clusterdeployments,secrets')
    expect(await refusal('strange')).toMatchInlineSnapshot(`"the Secret claimed/admin is not there"`)
    const config = await readKubeconfig(plane.kubeconfig)
    const users = config.users.map((one) => ({ ...one, user: { exec: { command: 'sh' } } }))
    await secret(namespace, JSON.stringify({ ...config, users }))
    expect(await refusal('strange')).toMatchInlineSnapshot(
      `"the kubeconfig in the Secret claimed/admin has exec: write in what it needs, as a token or as …-data"`,
    )
  })
})

describe('CLAIM-11: a claim without a cluster', () => {
  test('says what it waits for, at which place, and by which reason its pool is not Ready', async () => {
    const lastTransitionTime = '2026-01-01T00:00:00Z'
    const pending = { type: 'Pending', status: 'True', reason: 'NoClusters', lastTransitionTime } as const
    const conditions = [{ ...pending, message: 'no cluster is ready: place 2 in the queue of pool pool' }]
    await claim('waiting', { status: { queuePosition: 2, conditions } })
    expect(await refusal('waiting')).toMatchInlineSnapshot(
      `"claim waiting has no cluster yet: NoClusters: no cluster is ready: place 2 in the queue of pool pool"`,
    )
    const message = 'waits for a cluster of the pool pool, which says QuotaExceeded'
    const ready = { ...pending, type: 'Ready', status: 'False', message } as const
    await claim('behind', { status: { queuePosition: 2, conditions: [ready, ...conditions] } })
    expect(await refusal('behind')).toMatchInlineSnapshot(
      `"claim behind has no cluster yet: NoClusters: no cluster is ready: place 2 in the queue of pool pool; waits for a cluster of the pool pool, which says QuotaExceeded"`,
    )
    await claim('new', {})
    expect(await refusal('new')).toMatchInlineSnapshot(
      `"claim new has no cluster yet: no controller has looked at it yet"`,
    )
  })

  test('says that its cluster is another claim’s, or gone', async () => {
    const namespace = await claimed('theirs', ADMIN, RUNNING)
    await letIn(namespace, '--verb=get', '--resource=clusterdeployments,secrets')
    await claim('robbed', { namespace })
    expect(await refusal('robbed')).toMatchInlineSnapshot(
      `"claim robbed has no cluster any more: delete the claim, and claim again"`,
    )
  })

  test('is told from one that is not there, or must not be read', async () => {
    expect(await refusal('nothing')).toMatchInlineSnapshot(
      `"there is no ClusterClaim nothing in namespace claims: name another one, or its namespace with --namespace"`,
    )
    expect(await refusal('mine', 'default')).toContain('you may not read ClusterClaims in namespace default (')
    expect(await muster(['claim', 'kubeconfig', 'No_Name'])).toMatchObject({ code: 2 })
  })

  test('CLAIM-17: ends with 1, and where nothing could be looked at with 3', async () => {
    expect(await ask('nothing')).toMatchObject({ code: 1 })
    expect(await ask('mine', '--namespace=default')).toMatchObject({ code: 3 })
  })
})

test('its help has an example and the exit codes', async () => {
  const { code, output } = await muster(['claim', 'kubeconfig', '--help'])
  expect(code).toBe(0)
  expect(output).toContain('-n, --namespace <NAME>')
  expect(output).toContain('muster claim kubeconfig mine -n pools --write=mine.kubeconfig')
  expect(output).toContain('Exit codes: 0')
})
