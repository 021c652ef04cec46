import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { NOTHING_LEFT, REGISTRATION } from '#controllers/clusterdeployment/labels.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { type Fate, type OwnControlPlane, type ProxiedRequest, startControlPlane } from '#test/harness/index.ts'
import { front } from './front.ts'
import { earlierApi, hurriedClock, type Manager, type World, world } from './world.ts'

let plane: OwnControlPlane
let the: World

beforeAll(async () => {
  // A cluster from a backup may have what any inventory has whose cluster the API does not know.
  plane = await startControlPlane({ parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
  the = await world(plane)
})

afterAll(async () => {
  await the?.[Symbol.asyncDispose]()
  await plane?.stop()
})

const remove = (name: string) =>
  the.plane.rest('DELETE', `/apis/hive.openshift.io/v1/namespaces/${the.namespace}/clusterdeployments/${name}`)

const gone = (name: string) => the.eventually(async () => expect(await the.get(name)).toBeUndefined())

/** From nothing to installed to nothing, by any manager; there is never more than one cluster. */
const live = async (name: string): Promise<void> => {
  const declared = await the.declare(name)
  const { id } = await the.cluster(declared)
  await the.report(id, 'True')
  await the.until(name, 'Provisioned')
  expect((await the.cluster(declared)).id).toBe(id)
  await remove(name)
  await the.eventually(async () => expect((await the.cluster(declared)).deleted_time).toBeDefined())
  await the.cleanUp(id)
  await gone(name)
  expect(await the.clusters(declared.metadata.uid)).toEqual([])
}

/** Lives a life whose manager is killed at its n-th write, to Kubernetes or to the API. @returns whether there were so many */
const livesWithDeath = async (n: number, fate: 'drop' | 'lose'): Promise<boolean> => {
  await using proxy = await the.plane.proxy()
  await using before = await front(the.url)
  const died = Promise.withResolvers<void>()
  let writes = 0
  let isDead = false
  const decide = ({ method, path }: ProxiedRequest): Fate => {
    if (isDead) return 'drop'
    // What is said to people decides nothing.
    if (method === 'GET' || path.includes('/events')) return 'pass'
    writes += 1
    if (writes < n) return 'pass'
    isDead = true
    died.resolve()
    return fate
  }
  proxy.decide(decide)
  before.decide(decide)
  const first = await the.manager({ server: proxy.server, url: before.url })
  let second: Manager | undefined
  const succeeded = died.promise.then(async () => {
    await first.stop()
    second = await the.manager()
  })
  await live(`killed-at-${n}-${fate}`)
  if (isDead) await succeeded
  await first.stop()
  await second?.stop()
  return isDead
}

describe('a manager that is killed', () => {
  test.for(['drop', 'lose'] as const)(
    'at any write (%s) leaves what the next one finishes: one cluster, and none in the end',
    {
      timeout: 240_000,
    },
    async (fate) => {
      let kills = 0
      while (await livesWithDeath(kills + 1, fate)) kills += 1
      // Finalizer, annotation, POST, statuses, installed, DELETE, finalizer.
      expect(kills).toBeGreaterThanOrEqual(8)
    },
  )
})

test('CLUSTER-1: two managers at once make each cluster once', { timeout: 120_000 }, async () => {
  const managers = [await the.manager(), await the.manager()]
  const names = Array.from({ length: 20 }, (_, index) => `shared-${index}`)
  await Promise.all(names.map(live))
  await Promise.all(managers.map((manager) => manager.stop()))
})

describe('CLUSTER-7: the API away', () => {
  test('says so, keeps what is there, and goes on by itself when it is back', { timeout: 120_000 }, async () => {
    const manager = await the.manager()
    const settled = await the.declare('away-settled')
    await the.report((await the.cluster(settled)).id, 'True')
    await the.until('away-settled', 'Provisioned')
    const leaving = await the.declare('away-leaving')
    const { id } = await the.cluster(leaving)
    await the.until('away-leaving', 'Provisioning')

    the.front.decide(() => 'drop')
    the.front.cut()
    await the.until('away-leaving', 'APIUnreachable')
    const fresh = await the.declare('away-fresh')
    await the.until('away-fresh', 'APIUnreachable')
    await remove('away-leaving')
    await the.eventually(async () => expect((await the.get('away-leaving'))?.metadata.deletionTimestamp).toBeDefined())
    expect(await manager.registry.metrics()).toMatch(/^muster_clusterdeployment_stream_up 0$/m)
    expect((await the.until('away-settled', 'Provisioned')).spec.installed).toBe(true)

    the.front.decide(() => 'pass')
    await the.until('away-fresh', 'Provisioning')
    expect(await the.clusters(fresh.metadata.uid)).toHaveLength(1)
    await the.eventually(async () => expect((await the.cluster(leaving)).deleted_time).toBeDefined())
    await the.cleanUp(id)
    await gone('away-leaving')
    await manager.stop()
  })

  test('what changes while no manager runs is seen afterwards', { timeout: 120_000 }, async () => {
    const declared = await the.declare('unseen')
    const first = await the.manager()
    const { id } = await the.cluster(declared)
    await the.until('unseen', 'Provisioning')
    await first.stop()
    await the.report(id, 'True')
    await the.change('unseen', { metadata: { labels: { seen: 'later' } } })
    const second = await the.manager()
    await the.eventually(async () => expect((await the.cluster(declared)).labels).toHaveProperty('seen', 'later'))
    await the.eventually(async () => expect((await the.get('unseen'))?.spec.installed).toBe(true))
    await second.stop()
  })

  test.for([
    [503, 'APIUnreachable', 'Reconciling'],
    [403, 'APIRefused', 'Stalled'],
  ] as const)(
    'a POST that is answered %i is %s, and made later',
    { timeout: 120_000 },
    async ([status, reason, type]) => {
      const manager = await the.manager()
      the.front.decide(({ method }) => (method === 'POST' ? { status } : 'pass'))
      const name = `refused-${status}`
      const declared = await the.declare(name)
      const waiting = await the.until(name, reason)
      expect(findCondition(waiting.status?.conditions, type)?.status).toBe('True')
      expect(await the.clusters(declared.metadata.uid)).toEqual([])
      the.front.decide(() => 'pass')
      await the.cluster(declared)
      await manager.stop()
    },
  )

  test('the token is read for every request', { timeout: 120_000 }, async () => {
    const tokenFile = join(await temporaryFolder('token'), 'token')
    await writeFile(tokenFile, '')
    const manager = await the.manager({ tokenFile })
    const declared = await the.declare('with-token')
    const waiting = await the.until('with-token', 'APIUnreachable')
    expect(findCondition(waiting.status?.conditions, 'Ready')?.message).toContain(`${tokenFile} is empty`)
    await writeFile(tokenFile, 'one\n')
    await the.cluster(declared)
    await writeFile(tokenFile, 'two\n')
    await the.change('with-token', { metadata: { labels: { token: 'two' } } })
    await the.eventually(() => expect([...the.front.authorizations]).toEqual(['Bearer one', 'Bearer two']))
    await manager.stop()
  })
})

test('CLUSTER-5: an installation that fails is tried as often as it may be, then stopped, and tried again when it may', {
  timeout: 120_000,
}, async () => {
  const manager = await the.manager({ clock: hurriedClock() })
  const declared = await the.declare('failing', { installAttemptsLimit: 2 })
  const { id } = await the.cluster(declared)
  const attempt = (wanted: number) =>
    the.eventually(async () => expect((await the.cluster(declared)).spec.installAttempt).toBe(wanted))

  await the.report(id, 'False', 'no such zone')
  const failing = await the.until('failing', 'ProvisionFailing')
  expect(findCondition(failing.status?.conditions, 'ProvisionFailing')?.message).toBe('attempt 1: Dns: no such zone')
  await attempt(2)
  await the.report(id, 'False', 'still no such zone')
  const stopped = await the.until('failing', 'InstallAttemptsLimitReached')
  expect(stopped.status?.installAttempts).toBe(2)
  expect(findCondition(stopped.status?.conditions, 'ProvisionStopped')).toMatchObject({
    status: 'True',
    reason: 'InstallAttemptsLimitReached',
    message:
      '2 of 2 attempts have failed; the last one: Dns: still no such zone. Raise installAttemptsLimit to try again',
  })
  expect(await manager.registry.metrics()).toMatch(/^muster_clusterdeployment_failed_attempts_total 2$/m)

  await the.change('failing', { spec: { installAttemptsLimit: 3 } })
  await attempt(3)
  await the.report(id, 'True')
  const installed = await the.until('failing', 'Provisioned')
  expect(findCondition(installed.status?.conditions, 'ProvisionStopped')?.status).toBe('False')
  expect(installed.status?.installAttempts).toBe(2)
  await manager.stop()
})

test('CLUSTER-52: with Hive’s annotation there is one attempt, whatever the limit; without it they go on', {
  timeout: 120_000,
}, async () => {
  const manager = await the.manager({ clock: hurriedClock() })
  const once = 'hive.openshift.io/try-install-once'
  const declared = await the.declare('once', { installAttemptsLimit: 5 }, { annotations: { [once]: 'true' } })
  const { id } = await the.cluster(declared)
  await the.report(id, 'False', 'no such zone')
  const stopped = await the.until('once', 'InstallOnlyOnceSet')
  expect(findCondition(stopped.status?.conditions, 'ProvisionStopped')).toMatchObject({
    status: 'True',
    reason: 'InstallOnlyOnceSet',
    message: `1 of 1 attempts have failed; the last one: Dns: no such zone. Take the annotation ${once} off to try again`,
  })
  await the.change('once', { metadata: { annotations: { [once]: null } } })
  await the.eventually(async () => expect((await the.cluster(declared)).spec.installAttempt).toBe(2))
  await manager.stop()
})

test('CLUSTER-23: a quota that is used up fails no attempt, for whatever time; what is wrong otherwise does, and room ends it', {
  timeout: 120_000,
}, async () => {
  const clock = hurriedClock()
  const manager = await the.manager({ clock })
  const declared = await the.declare('too-many', { installAttemptsLimit: 1 })
  const { id } = await the.cluster(declared)
  await the.report(id, 'False', 'you have 2 of 2 clusters', 'QuotaExceeded')
  const waiting = await the.until('too-many', 'QuotaExceeded')
  const provisioned = findCondition(waiting.status?.conditions, 'Provisioned')
  expect(provisioned).toMatchObject({ status: 'False', reason: 'QuotaExceeded' })
  expect(provisioned?.message).toBe('Dns: you have 2 of 2 clusters; tried again')
  const watched = waiting.status?.installWatch
  // A failure would have counted after a minute, and the watch after five.
  const later = clock.now().getTime() + 20 * 60_000
  await the.eventually(() => expect(clock.now().getTime()).toBeGreaterThan(later))
  await the.change('too-many', { metadata: { annotations: { look: 'again' } } })
  await the.report(id, 'False', 'you have 3 of 2 clusters', 'QuotaExceeded')
  const still = await the.eventually(async () => {
    const found = await the.until('too-many', 'QuotaExceeded')
    expect(findCondition(found.status?.conditions, 'Ready')?.message).toContain('3 of 2')
    return found
  })
  expect(still.status?.installWatch?.seconds).toBe(watched?.seconds)
  expect(still.status?.installAttempts).toBe(0)
  expect(findCondition(still.status?.conditions, 'ProvisionStopped')?.status).toBe('False')
  await the.report(id, 'True')
  expect((await the.until('too-many', 'Provisioned')).spec.installed).toBe(true)
  await manager.stop()
})

test('CLUSTER-14: an installed cluster that the API lost keeps its lease while adapters may find what they applied, and goes then', {
  timeout: 120_000,
}, async () => {
  const clock = hurriedClock()
  const manager = await the.manager({ clock })
  const declared = await the.declare('lost')
  const { id } = await the.cluster(declared)
  await the.report(id, 'True')
  await the.until('lost', 'Provisioned')
  await the.call('DELETE', `/clusters/${id}`)
  await the.cleanUp(id)
  const { status } = await the.until('lost', 'RecordGone')
  const since = Date.parse(findCondition(status?.conditions, 'ProvisionStopped')?.lastTransitionTime ?? '')
  await remove('lost')
  await gone('lost')
  expect(clock.now().getTime() - since).toBeGreaterThanOrEqual(90_000)
  await manager.stop()
})

/** It stays, and says what a person has to look for; then the person says that nothing is left. */
const sayNothingLeft = async (name: string, id: string): Promise<void> => {
  const { status } = await the.until(name, 'LeftBehind')
  const said = findCondition(status?.conditions, 'LeftBehind')
  expect(said).toMatchObject({ status: 'True', message: expect.stringContaining(`${NOTHING_LEFT}=${id}`) })
  await the.change(name, { metadata: { annotations: { [NOTHING_LEFT]: id } } })
}

test('CLUSTER-14, CLUSTER-42: one whose record is removed by force while it is being deleted keeps its lease until nothing is left', {
  timeout: 120_000,
}, async () => {
  const clock = hurriedClock()
  const manager = await the.manager({ clock })
  const declared = await the.declare('forced')
  const { id } = await the.cluster(declared)
  await the.report(id, 'True')
  await the.until('forced', 'Provisioned')
  await remove('forced')
  await the.until('forced', 'Deprovisioning')
  const before = clock.now().getTime()
  await the.call('POST', `/clusters/${id}/force-delete`, { reason: 'the cloud account is closed' })
  await sayNothingLeft('forced', id)
  await gone('forced')
  // 90 s: a look that was under way counts from its begin, and a moment is long by this clock.
  expect(clock.now().getTime() - before).toBeGreaterThanOrEqual(60_000)
  await manager.stop()
})

/** While this lasts, the manager may read what adapters have, and the adapter dns has a task here. */
const adapterDns = async (): Promise<AsyncDisposable> => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const role = `left-behind-${the.namespace}`
  const apiGroup = 'rbac.authorization.k8s.io'
  const rules = [
    { apiGroups: ['hyperfleet.redhat.com'], resources: ['adaptertasks', 'adapterinventories'], verbs: ['list'] },
  ]
  await the.plane.rest('POST', `${rbac}/clusterroles`, { metadata: { name: role }, rules })
  await the.plane.rest('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: role },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name: 'hyperfleet-clusterdeployment', namespace: the.namespace }],
  })
  await the.kube.create(AdapterTask, {
    metadata: { name: 'dns', namespace: the.namespace },
    spec: {
      adapter: { name: 'dns' },
      resourceType: 'clusters',
      serviceAccountName: 'dns',
      hyperfleetAPI: { url: the.url },
      params: [],
    },
  } as never)
  return {
    async [Symbol.asyncDispose]() {
      await the.kube.delete(AdapterTask, 'dns', the.namespace)
      await the.plane.rest('DELETE', `${rbac}/clusterrolebindings/${role}`)
      await the.plane.rest('DELETE', `${rbac}/clusterroles/${role}`)
    },
  }
}

/** The adapter dns has one object for the record. @returns takes it away */
const anInventory = async (name: string, id: string) => {
  const object = { resource: 'zone', generation: 1, propagationPolicy: 'Background', name: 'zone', kind: 'ConfigMap' }
  await the.kube.create(AdapterInventory, {
    metadata: { name, namespace: the.namespace },
    spec: {
      task: 'dns',
      adapter: 'dns',
      serviceAccountName: 'dns',
      resourceId: id,
      event: { id, kind: 'Cluster' },
      objects: [object],
    },
  } as never)
  return () => the.kube.delete(AdapterInventory, name, the.namespace)
}

/** What keeps it. */
const leftBehind = async (name: string) =>
  findCondition((await the.until(name, 'LeftBehind')).status?.conditions, 'LeftBehind')?.message

test('CLUSTER-42: an inventory of the adapter that says so keeps it, and it goes by itself when that is gone', {
  timeout: 120_000,
}, async () => {
  await using _ = await adapterDns()
  const manager = await the.manager({ clock: hurriedClock() })
  const { id } = await the.cluster(await the.declare('kept'))
  await the.report(id, 'True')
  await the.until('kept', 'Provisioned')
  const takeAway = await anInventory('dns-kept', id)
  await remove('kept')
  await the.until('kept', 'Deprovisioning')
  await the.call('POST', `/clusters/${id}/force-delete`, { reason: 'the cloud account is closed' })
  expect(await leftBehind('kept')).toContain('dns has 1 objects of it')
  await takeAway()
  await gone('kept')
  await manager.stop()
})

test('CLUSTER-55: one that is not installed is not registered again under its customization while an inventory has anything of the lost record', {
  timeout: 120_000,
}, async () => {
  await using _ = await adapterDns()
  const clock = hurriedClock()
  const manager = await the.manager({ clock })
  await the.customize('anew', 'anew')
  const declared = await the.declare('anew', {
    clusterPoolRef: {
      namespace: the.namespace,
      poolName: 'none',
      clusterDeploymentCustomization: { name: 'anew' },
    },
  })
  const { id } = await the.cluster(declared)
  await the.report(id, 'False')
  await the.until('anew', 'ProvisionFailing')
  const takeAway = await anInventory('dns-anew', id)
  await the.call('DELETE', `/clusters/${id}`)
  const before = clock.now().getTime()
  await the.call('POST', `/clusters/${id}/force-delete`, { reason: 'the cloud account is closed' })
  expect(await leftBehind('anew')).toContain('dns has 1 objects of it')
  expect(await the.clusters(declared.metadata.uid)).toEqual([])
  await takeAway()
  expect((await the.cluster(declared)).id).not.toBe(id)
  // 90 s: a look that was under way counts from its begin, and a moment is long by this clock.
  expect(clock.now().getTime() - before).toBeGreaterThanOrEqual(60_000)
  const { status } = await the.until('anew', 'Provisioning')
  expect(findCondition(status?.conditions, 'LeftBehind')).toMatchObject({ status: 'False' })
  await remove('anew')
  await the.until('anew', 'Deprovisioning')
  await the.cleanUp(status?.hyperfleet?.id ?? '')
  await gone('anew')
  await manager.stop()
})

test('CLUSTER-55: a lost record in whose place another one came keeps what the cluster leases all the same', {
  timeout: 120_000,
}, async () => {
  await using _ = await adapterDns()
  const manager = await the.manager({ clock: hurriedClock() })
  const declared = await the.declare('replaced')
  const { id } = await the.cluster(declared)
  await the.report(id, 'False')
  await the.until('replaced', 'ProvisionFailing')
  const takeAway = await anInventory('dns-replaced', id)
  await the.call('DELETE', `/clusters/${id}`)
  await the.call('POST', `/clusters/${id}/force-delete`, { reason: 'the cloud account is closed' })
  // Without a customization nothing else has its names.
  const next = await the.eventually(async () => {
    const { status } = await the.until('replaced', 'Provisioning')
    expect(status?.hyperfleet?.id).not.toBe(id)
    return status?.hyperfleet?.id ?? ''
  })
  await remove('replaced')
  await the.eventually(async () => expect((await the.cluster(declared)).deleted_time).toBeDefined())
  await the.cleanUp(next)
  expect(await leftBehind('replaced')).toContain(`lost cluster ${id}`)
  await takeAway()
  await gone('replaced')
  await manager.stop()
})

test('CLUSTER-57: one from a backup, without a status, keeps its lease while an inventory has anything of a cluster that the API lost', {
  timeout: 120_000,
}, async () => {
  await using _ = await adapterDns()
  const manager = await the.manager({ clock: hurriedClock() })
  const { id } = await the.cluster(await the.declare('living'))
  const leaveLiving = await anInventory('dns-living', id)
  await the.declare('backup', { installed: true }, { annotations: { [REGISTRATION]: 'uid-before' } })
  await the.until('backup', 'RecordGone')
  const takeAway = await anInventory('dns-backup', 'a-cluster-of-before')
  await remove('backup')
  expect(await leftBehind('backup')).toMatch(/of cluster a-cluster-of-before .*nothing-left=uid-before$/)
  await takeAway()
  await gone('backup')
  await leaveLiving()
  await manager.stop()
})

test('CLUSTER-56: that a record went in order is known when the archive of the API has forgotten it', {
  timeout: 120_000,
}, async () => {
  const manager = await the.manager({ clock: hurriedClock() })
  const declared = await the.declare('forgotten')
  const { id } = await the.cluster(declared)
  await the.report(id, 'True')
  await the.until('forgotten', 'Provisioned')
  await the.call('DELETE', `/clusters/${id}`)
  await the.cleanUp(id)
  await the.until('forgotten', 'RecordGone')
  await the.call('POST', '/archive/purge', { before: new Date(Date.now() + 60_000).toISOString() })
  await remove('forgotten')
  await gone('forgotten')
  await manager.stop()
})

test('CLUSTER-14: so does one whose record a restored database does not have, installed or not', {
  timeout: 120_000,
}, async () => {
  const clock = hurriedClock()
  const manager = await the.manager({ clock })
  const declared = await the.declare('restored')
  const { id } = await the.cluster(declared)
  await the.report(id, 'False')
  await the.until('restored', 'ProvisionFailing')
  await remove('restored')
  await the.until('restored', 'Deprovisioning')
  await using earlier = await earlierApi(the)
  onTestFinished(() => the.front.lead(the.url))
  const before = clock.now().getTime()
  the.front.lead(earlier.url)
  the.front.cut()
  await sayNothingLeft('restored', id)
  await gone('restored')
  // 90 s: a look that was under way counts from its begin, and a moment is long by this clock.
  expect(clock.now().getTime() - before).toBeGreaterThanOrEqual(60_000)
  await manager.stop()
})

test('an API that was put back to an earlier state, and knows the version of the stream all the same, is read anew in ten minutes', {
  timeout: 120_000,
}, async () => {
  const manager = await the.manager({ clock: hurriedClock() })
  const declared = await the.declare('put-back')
  const { id } = await the.cluster(declared)
  await using earlier = await earlierApi(the)
  onTestFinished(() => the.front.lead(the.url))
  the.front.lead(earlier.url)
  the.front.cut()
  await the.eventually(async () => {
    const now = (await the.get('put-back'))?.status?.hyperfleet?.id
    expect(now).toEqual(expect.any(String))
    expect(now).not.toBe(id)
  })
  await manager.stop()
})

test('an adapter that says more than a condition can hold is told as far as there is room', async () => {
  const manager = await the.manager()
  const declared = await the.declare('wordy')
  const { id } = await the.cluster(declared)
  await the.report(id, 'False', 'no, '.repeat(10_000))
  const failing = await the.until('wordy', 'ProvisionFailing')
  expect(findCondition(failing.status?.conditions, 'DnsSuccessful')?.message).toHaveLength(32_768)
  await the.report(id, 'True', 'yes, '.repeat(10_000))
  expect((await the.until('wordy', 'Provisioned')).spec.installed).toBe(true)
  await manager.stop()
})
