import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { KUBERNETES, REGISTRATION } from '#controllers/clusterdeployment/labels.ts'
import { withoutOrigin } from '#controllers/clusterdeployment/record/origin.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { type Manager, type World, world } from './world.ts'

let the: World
let manager: Manager

beforeAll(async () => {
  the = await world()
  manager = await the.manager()
})

afterAll(async () => {
  await the?.[Symbol.asyncDispose]()
})

const said = (deployment: ClusterDeployment, type: string): string => {
  const condition = findCondition(deployment.status?.conditions, type)
  return `${condition?.status} ${condition?.reason}`
}

const gone = (name: string) => the.eventually(async () => expect(await the.get(name)).toBeUndefined())

const remove = (name: string) =>
  the.plane.rest('DELETE', `/apis/hive.openshift.io/v1/namespaces/${the.namespace}/clusterdeployments/${name}`)

test('a ClusterDeployment is registered, installed when its adapters say so, and gone when they have cleaned up', async () => {
  const metadata = { labels: { region: 'us-east' } }
  const declared = await the.declare('whole-life', { installAttemptsLimit: 3 }, metadata)
  const cluster = await the.cluster(declared)
  expect(withoutOrigin(cluster.labels)).toEqual({ region: 'us-east', [REGISTRATION]: declared.metadata.uid })
  expect(cluster.spec).toEqual({
    clusterDeployment: { namespace: the.namespace, name: 'whole-life' },
    clusterName: 'whole-life',
    baseDomain: 'example.com',
    platform: 'aws',
    platformDetails: { region: 'eu-1' },
    installAttempt: 1,
    powerState: 'Running',
  })
  const waiting = await the.until('whole-life', 'Provisioning')
  expect(waiting.status?.hyperfleet).toEqual({
    id: cluster.id,
    href: `/api/hyperfleet/v1/clusters/${cluster.id}`,
    generation: 1,
  })
  expect(waiting.spec.installed).toBe(false)

  await the.report(cluster.id, 'True')
  const installed = await the.until('whole-life', 'Provisioned')
  expect(installed.spec.installed).toBe(true)
  expect(installed.status).toMatchObject({ powerState: 'Running', installAttempts: 0 })
  expect(installed.status?.installedTimestamp).toMatch(/^\d{4}-/)
  expect(
    [
      'Ready',
      'Reconciling',
      'Stalled',
      'Provisioned',
      'ProvisionStopped',
      'Available',
      'DnsSuccessful',
      'Hibernating',
    ].map((type) => `${type} ${said(installed, type)}`),
  ).toMatchInlineSnapshot(`
    [
      "Ready True Provisioned",
      "Reconciling False NotReconciling",
      "Stalled False NotStalled",
      "Provisioned True Provisioned",
      "ProvisionStopped False NotStopped",
      "Available True AllAdaptersReconciled",
      "DnsSuccessful True Said",
      "Hibernating False ResumingOrRunning",
    ]
  `)

  await remove('whole-life')
  const leaving = await the.until('whole-life', 'Deprovisioning')
  expect(findCondition(leaving.status?.conditions, 'Ready')?.message).toContain('dns')
  expect((await the.cluster(declared)).deleted_time).toBeDefined()
  await the.cleanUp(cluster.id)
  await gone('whole-life')
  expect(await the.clusters(declared.metadata.uid)).toEqual([])
})

test('kubectl get shows how it stands', async () => {
  const declared = await the.declare('in-columns')
  await the.report((await the.cluster(declared)).id, 'True')
  await the.until('in-columns', 'Provisioned')
  const table = await the.plane.kubectl('get', 'cd', 'in-columns', '-n', the.namespace)
  expect(table.split('\n')[0]?.split(/ +/)).toEqual([
    'NAME',
    'POOL',
    'CLAIM',
    'CUSTOMIZATION',
    'INSTALLED',
    'POWERSTATE',
    'READY',
    'API',
    'AGE',
  ])
  expect(table).toMatch(/in-columns +true +Running +True/)
})

describe('CLUSTER-2: the lease of its customization', () => {
  const ref = (name: string) => ({
    namespace: the.namespace,
    poolName: 'pool',
    clusterDeploymentCustomization: { name },
  })

  test('a cluster whose customization is leased to another one is not registered, and is as soon as it is its own', async () => {
    await the.customize('leased-elsewhere', 'somebody-else')
    const declared = await the.declare('not-leased', { clusterPoolRef: ref('leased-elsewhere') })
    const waiting = await the.until('not-leased', 'WaitingForLease')
    expect(findCondition(waiting.status?.conditions, 'Ready')?.message).toBe(
      `customization leased-elsewhere is leased to cluster ${the.namespace}/somebody-else; registered when it is its own`,
    )
    expect(await the.clusters(declared.metadata.uid)).toEqual([])
    const path = `/apis/hive.openshift.io/v1/namespaces/${the.namespace}/clusterdeploymentcustomizations/leased-elsewhere/status`
    const lease = await the.plane.rest<{ status: object }>('GET', path)
    await the.plane.rest('PUT', path, {
      ...lease,
      status: { ...lease.status, clusterDeploymentRef: { name: 'not-leased', namespace: the.namespace } },
    })
    await the.until('not-leased', 'Provisioning')
  })

  test('a free customization and one that is not there are no lease either', async () => {
    await the.customize('free')
    await the.declare('free-lease', { clusterPoolRef: ref('free') })
    await the.declare('no-customization', { clusterPoolRef: ref('nowhere') })
    await the.until('free-lease', 'WaitingForLease')
    await the.until('no-customization', 'WaitingForLease')
  })

  test('the pool’s finalizer stays when the record is gone: the lease is released last', async () => {
    await the.customize('held', 'holder')
    const metadata = { finalizers: [LEASE_FINALIZER] }
    const declared = await the.declare('holder', { clusterPoolRef: ref('held') }, metadata)
    const { id } = await the.cluster(declared)
    await the.until('holder', 'Provisioning')
    await remove('holder')
    await the.until('holder', 'Deprovisioning')
    expect((await the.get('holder'))?.metadata.finalizers).toHaveLength(2)
    await the.cleanUp(id)
    await the.eventually(async () => expect((await the.get('holder'))?.metadata.finalizers).toEqual([LEASE_FINALIZER]))
    expect(await the.clusters(declared.metadata.uid)).toEqual([])
    await the.change('holder', { metadata: { finalizers: null } })
  })
})

describe('what the API is told', () => {
  test('CLUSTER-3: an install-config goes without its secrets, which the record names; one that comes later is waited for', async () => {
    const provisioning = { imageSetRef: { name: 'v4.20' }, installConfigSecretRef: { name: 'late-config' } }
    const declared = await the.declare('late', { provisioning, pullSecretRef: { name: 'pull' } })
    await the.until('late', 'WaitingForInstallConfig')
    expect(await the.clusters(declared.metadata.uid)).toEqual([])
    const secrets = 'pullSecret: "{}"\nsshKey: ssh-ed25519 A\nproxy:\n  httpProxy: http://me:pw@proxy:3128\n'
    const platform = 'platform:\n  vsphere:\n    password: hunter2\n    vcenters: [{server: v, password: hunter3}]\n'
    await the.installConfig('late-config', `metadata:\n  name: foo\n${secrets}${platform}`)
    const { spec } = await the.cluster(declared)
    expect(spec.installConfig).toEqual({
      metadata: { name: 'foo' },
      proxy: { httpProxy: 'http://proxy:3128' },
      platform: { vsphere: { vcenters: [{ server: 'v' }] } },
    })
    expect(spec).toMatchObject({
      imageSet: 'v4.20',
      installConfigSecretRef: { namespace: the.namespace, name: 'late-config' },
      pullSecretRef: { namespace: the.namespace, name: 'pull' },
    })
    expect(JSON.stringify(spec)).not.toMatch(/hunter|ssh-ed25519|me:pw/)
  })

  test('CLUSTER-10: labels follow the ClusterDeployment, and what another client puts onto the record is taken back', async () => {
    const declared = await the.declare('labelled', {}, { labels: { region: 'eu' } })
    const { id } = await the.cluster(declared)
    await the.change('labelled', { metadata: { labels: { region: 'us', tier: 'gold' } } })
    await the.eventually(async () =>
      expect(withoutOrigin((await the.cluster(declared)).labels)).toEqual({
        region: 'us',
        tier: 'gold',
        [REGISTRATION]: declared.metadata.uid,
      }),
    )
    await the.call('PATCH', `/clusters/${id}`, { labels: {}, spec: { mine: true } })
    await the.eventually(async () => {
      const { labels, spec } = await the.cluster(declared)
      expect(withoutOrigin(labels)).toEqual({ region: 'us', tier: 'gold', [REGISTRATION]: declared.metadata.uid })
      expect(spec).not.toHaveProperty('mine')
    })
  })
})

test('power follows the declared one, after the installation', async () => {
  const declared = await the.declare('sleepy', { powerState: 'Hibernating' })
  const { id, spec } = await the.cluster(declared)
  expect(spec.powerState).toBe('Running')
  await the.report(id, 'True')
  await the.eventually(async () => expect((await the.cluster(declared)).spec.powerState).toBe('Hibernating'))
  const stopping = await the.until('sleepy', 'Stopping')
  expect([stopping.status?.powerState, said(stopping, 'Hibernating')]).toEqual([
    'Stopping',
    'True HibernatingOrStopping',
  ])
  await the.report(id, 'True')
  expect((await the.until('sleepy', 'Provisioned')).status?.powerState).toBe('Hibernating')
  await the.change('sleepy', { spec: { powerState: 'Running' } })
  const resuming = await the.until('sleepy', 'Resuming')
  expect(said(resuming, 'Hibernating')).toBe('False ResumingOrRunning')
  await the.eventually(async () => expect((await the.cluster(declared)).spec.powerState).toBe('Running'))
  await the.report(id, 'True')
  expect((await the.until('sleepy', 'Provisioned')).status?.powerState).toBe('Running')
})

test('CLUSTER-6: a cluster that has run for its hibernateAfter is put to sleep, and when it is woken up its time begins anew', async () => {
  const declared = await the.declare('worn-out', { hibernateAfter: '1s' })
  const { id } = await the.cluster(declared)
  await the.report(id, 'True')
  const stopping = await the.until('worn-out', 'Stopping')
  expect(stopping.spec.powerState).toBe('Hibernating')
  const told = await the.eventually(async () => {
    const events = `/apis/events.k8s.io/v1/namespaces/${the.namespace}/events`
    const { items } = await the.plane.rest<{ items: { reason: string; note: string; regarding: { name: string } }[] }>(
      'GET',
      events,
    )
    const about = items.filter(({ reason, regarding }) => reason === 'HibernateAfter' && regarding.name === 'worn-out')
    expect(about).toHaveLength(1)
    return about[0]?.note
  })
  expect(told).toBe('it has run for 1s (hibernateAfter), and is put to sleep; set powerState to Running to wake it')
  await the.eventually(async () => expect((await the.cluster(declared)).spec.powerState).toBe('Hibernating'))
  await the.report(id, 'True')
  expect((await the.until('worn-out', 'Provisioned')).status?.powerState).toBe('Hibernating')

  await the.change('worn-out', { spec: { powerState: 'Running', hibernateAfter: '1h' } })
  await the.eventually(async () => expect((await the.cluster(declared)).spec.powerState).toBe('Running'))
  await the.report(id, 'True')
  const awake = await the.eventually(async () => {
    const { status } = await the.until('worn-out', 'Provisioned')
    const condition = findCondition(status?.conditions, 'Hibernating')
    expect(condition?.message).toContain('put to sleep')
    return condition
  })
  const until = new Date(Date.parse(awake?.lastTransitionTime ?? '') + 3_600_000).toISOString().slice(0, 19)
  expect(awake?.message).toBe(`it runs; put to sleep at ${until}Z (hibernateAfter)`)
  await the.change('worn-out', { spec: { hibernateAfter: '1s' } })
  await the.eventually(async () => expect((await the.get('worn-out'))?.spec.powerState).toBe('Hibernating'))
})

describe('names', () => {
  test('a name that another record has is no obstacle: the cluster gets one of its own', async () => {
    await the.call('POST', '/clusters', { name: 'taken', spec: {} })
    const declared = await the.declare('taken')
    expect((await the.cluster(declared)).name).toMatch(/^taken-[0-9a-f]{5}$/)
    await the.until('taken', 'Provisioning')
  })

  test('a name that the API does not take is made fit', async () => {
    const long = `${'a'.repeat(60)}.b`
    expect((await the.cluster(await the.declare(long))).name).toMatch(/^a{47}-[0-9a-f]{5}$/)
    expect((await the.cluster(await the.declare('ab'))).name).toMatch(/^ab-[0-9a-f]{5}$/)
  })

  test('CLUSTER-9: attack: a copy has the annotation of another one; it does not get the other’s cluster, nor deletes it', async () => {
    const original = await the.declare('original')
    await the.cluster(original)
    await the.until('original', 'Provisioning')
    await the.declare('copy', {}, { annotations: { [REGISTRATION]: original.metadata.uid } })
    const refused = await the.until('copy', 'RegistrationConflict')
    expect(said(refused, 'Stalled')).toBe('True RegistrationConflict')
    await remove('copy')
    await gone('copy')
    expect((await the.cluster(original)).deleted_time).toBeUndefined()
  })

  test('CLUSTER-17: one whose cluster another Kubernetes cluster registered stays when it is deleted, until its annotation goes', async () => {
    const registration = 'uid-in-another-life'
    await the.call('POST', '/clusters', {
      kind: 'Cluster',
      name: 'foreign',
      labels: { [REGISTRATION]: registration, [KUBERNETES]: 'another' },
      spec: { clusterDeployment: { namespace: the.namespace, name: 'foreign' } },
    })
    await the.declare('foreign', {}, { annotations: { [REGISTRATION]: registration } })
    await the.until('foreign', 'RegistrationConflict')
    await remove('foreign')
    await the.eventually(async () => {
      const held = await the.until('foreign', 'RegistrationConflict')
      expect(findCondition(held.status?.conditions, 'Ready')?.message).toContain('Set preserveOnDelete, or remove')
    })
    await the.change('foreign', { metadata: { annotations: { [REGISTRATION]: null } } })
    await gone('foreign')
    expect((await the.clusters(registration)).map(({ deleted_time }) => deleted_time)).toEqual([undefined])
  })

  test('a ClusterDeployment that was restored from a backup finds its cluster again', async () => {
    const first = await the.declare('restored')
    const { id } = await the.cluster(first)
    await the.until('restored', 'Provisioning')
    await the.change('restored', { metadata: { finalizers: null } })
    await manager.stop()
    await the.change('restored', { metadata: { finalizers: null } })
    await remove('restored')
    const annotations = { [REGISTRATION]: first.metadata.uid }
    await the.eventually(() => the.declare('restored', {}, { annotations }))
    manager = await the.manager()
    const again = await the.until('restored', 'Provisioning')
    expect(again.status?.hyperfleet?.id).toBe(id)
    expect(again.metadata.uid).not.toBe(first.metadata.uid)
  })
})

describe('CLUSTER-8: its cluster is deleted in the API', () => {
  test('while it is being installed: it is registered again', async () => {
    const declared = await the.declare('lost-early')
    const { id } = await the.cluster(declared)
    await the.report(id, 'False')
    await the.until('lost-early', 'ProvisionFailing')
    await the.call('DELETE', `/clusters/${id}`)
    await the.until('lost-early', 'DeletedElsewhere')
    await the.cleanUp(id)
    await the.eventually(async () => expect((await the.cluster(declared)).id).not.toBe(id))
  })

  test('when it was installed: nothing is made in its place, and the pool learns that it is broken', async () => {
    const declared = await the.declare('lost-late')
    const { id } = await the.cluster(declared)
    await the.report(id, 'True')
    await the.until('lost-late', 'Provisioned')
    await the.call('DELETE', `/clusters/${id}`)
    await the.until('lost-late', 'DeletedElsewhere')
    await the.cleanUp(id)
    const lost = await the.until('lost-late', 'RecordGone')
    expect(said(lost, 'ProvisionStopped')).toBe('True RecordGone')
    expect(await the.clusters(declared.metadata.uid)).toEqual([])
  })
})

test('CLUSTER-1: a second record of one registration goes, the oldest stays', async () => {
  const declared = await the.declare('doubled')
  const first = await the.cluster(declared)
  await the.until('doubled', 'Provisioning')
  const { labels, spec } = first
  const second = await the.call('POST', '/clusters', { name: 'doubled-2', labels, spec })
  await the.eventually(async () =>
    expect((await the.call('GET', `/clusters/${second?.id}`))?.deleted_time).toBeDefined(),
  )
  await the.cleanUp(second?.id ?? '')
  expect((await the.cluster(declared)).id).toBe(first.id)
  expect((await the.until('doubled', 'Provisioning')).status?.hyperfleet?.id).toBe(first.id)
})

test('CLUSTER-4: a deletion in the middle of provisioning takes the record along; one that is to be preserved stays', async () => {
  const declared = await the.declare('cut-short')
  const { id } = await the.cluster(declared)
  await remove('cut-short')
  await the.until('cut-short', 'Deprovisioning')
  await the.cleanUp(id)
  await gone('cut-short')
  expect(await the.clusters(declared.metadata.uid)).toEqual([])

  const kept = await the.declare('preserved', { preserveOnDelete: true })
  await the.cluster(kept)
  await the.until('preserved', 'Provisioning')
  await remove('preserved')
  await gone('preserved')
  expect((await the.cluster(kept)).deleted_time).toBeUndefined()
})

test('POOL-101: one that a finalizer of others holds says so once its cluster is gone, not that it waits for adapters', async () => {
  const declared = await the.declare('foreign-finalizer')
  const { id } = await the.cluster(declared)
  const before = (await the.until('foreign-finalizer', 'Provisioning')).metadata.finalizers ?? []
  await the.change('foreign-finalizer', { metadata: { finalizers: [...before, 'example.com/backup'] } })
  await remove('foreign-finalizer')
  await the.until('foreign-finalizer', 'Deprovisioning')
  await the.cleanUp(id)
  const held = await the.until('foreign-finalizer', 'HeldByFinalizer')
  // The status is written first, then its own finalizer is taken off.
  await the.eventually(async () =>
    expect((await the.get('foreign-finalizer'))?.metadata.finalizers).toEqual(['example.com/backup']),
  )
  expect(findCondition(held.status?.conditions, 'Ready')?.message).toContain('its finalizer example.com/backup')
  await the.change('foreign-finalizer', { metadata: { finalizers: [] } })
  await gone('foreign-finalizer')
})

test('steady, it sends no request', async () => {
  const declared = await the.declare('steady')
  await the.report((await the.cluster(declared)).id, 'True')
  await the.until('steady', 'Provisioned')
  const before = the.front.requests.length
  await the.change('steady', { metadata: { annotations: { note: 'nothing to do' } } })
  const marker = await the.declare('steady-marker')
  await the.cluster(marker)
  expect(the.front.requests.slice(before).filter((line) => line.includes(declared.metadata.uid))).toEqual([])
})

test('what is counted', async () => {
  const text = await manager.registry.metrics()
  expect(text).toMatch(/^muster_clusterdeployments\{state="installed"\} \d+/m)
  expect(text).toMatch(/^muster_clusterdeployment_stream_up 1$/m)
  expect(text).toMatch(/^muster_clusterdeployment_install_seconds_count [1-9]/m)
})
