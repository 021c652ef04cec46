/** What a pool of real clusters of the provider `local` survives with all managers: clusters die and fall asleep, certificates are renewed, the quota is used up. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ensureCertificates } from '#hack/local-clusters/certificates.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { HIVE, POOL, QUOTA, type SurvivorsWorld, survivorsWorld } from './survivors-world.ts'
import { clientOf, namespacesOf, PATIENCE } from './world.ts'

vi.setConfig({ testTimeout: 300_000 })

const DAY_MS = 24 * 3_600_000

let the: SurvivorsWorld

beforeAll(async () => {
  the = await survivorsWorld()
})

afterAll(() => the?.[Symbol.asyncDispose]())

describe('with the time hurried on', () => {
  beforeAll(async () => {
    the.before.decide(() => 'pass')
    await the.world.startManagers({
      clock: hurriedClock(),
      adapter: { files: [the.secrets], httpTargets: [the.before.url] },
    })
  })

  const claim = (name: string) =>
    the.world.apply(
      JSON.stringify({
        apiVersion: 'hive.openshift.io/v1',
        kind: 'ClusterClaim',
        metadata: { name, namespace: the.world.namespace },
        spec: { clusterPoolName: POOL },
      }),
    )
  const untilClaimed = (name: string): Promise<string> =>
    vi.waitFor(async () => {
      const path = `${HIVE}/namespaces/${the.world.namespace}/clusterclaims/${name}`
      return (await the.get<{ spec: { namespace?: string } }>(path)).spec.namespace ?? expect.fail('it waits')
    }, PATIENCE)

  test('CLUSTER-72: beyond the quota the pool says so in the provider’s words, and is filled when there is room', async () => {
    const others = ['other-1', 'other-2']
    for (const name of others) await the.service.call('POST', '/clusters', { name, power: 'Hibernating' })
    await the.sizes(2)
    const message = `project test has ${QUOTA} of ${QUOTA} clusters: delete one, or ask for a larger quota`
    await vi.waitFor(
      async () =>
        expect(await the.poolCondition('CapacityAvailable')).toMatchObject({
          status: 'False',
          reason: 'QuotaExceeded',
          message: expect.stringContaining(message),
        }),
      PATIENCE,
    )
    for (const name of others) await the.service.call('DELETE', `/clusters/${name}`)
    const running = await the.untilRunning(2)
    await vi.waitFor(
      async () => expect(await the.poolCondition('CapacityAvailable')).toMatchObject({ status: 'True' }),
      PATIENCE,
    )
    expect(await the.clusters()).toHaveLength(2)
    for (const name of running) expect((await the.deployment(name)).status?.installAttempts ?? 0).toBe(0)
  })

  /** The one that is claimed, and one that stands by. */
  let mine: string
  let standby: string

  test('CLUSTER-73: a cluster that hangs while it stands by is replaced, and nothing of it is left', async () => {
    await the.sizes(1)
    await the.untilRunning(1)
    await claim('mine')
    mine = await untilClaimed('mine')
    const all = await the.untilRunning(2)
    standby = all.find((name) => name !== mine) ?? ''
    for (const name of all) await untilReached(name)
    const dead = await the.apiServerOf(standby)
    process.kill(dead.pid, 'SIGSTOP')
    await vi.waitFor(
      async () => expect(await the.condition(standby, 'Unreachable')).toMatchObject({ status: 'True' }),
      PATIENCE,
    )
    await vi.waitFor(async () => {
      const names = (await the.deployments()).map(({ metadata }) => metadata.name)
      expect(names).toHaveLength(2)
      expect(names).toContain(mine)
      expect(names).not.toContain(standby)
    }, PATIENCE)
    await the.untilRunning(2)
    expect(await the.service.remains(dead.uid)).toEqual({ files: 0, keys: 0, processes: 0 })
  })

  const untilReached = (name: string) =>
    vi.waitFor(
      async () => expect(await the.condition(name, 'Unreachable')).toMatchObject({ status: 'False' }),
      PATIENCE,
    )

  test('CLUSTER-73: one that hangs while it is claimed says since when, for however long, and stays', async () => {
    await clientOf(await the.secretOf(mine)).createNamespacedConfigMap({
      namespace: 'default',
      body: { metadata: { name: 'kept' }, data: { by: 'the claimant' } },
    })
    const { pid } = await the.apiServerOf(mine)
    process.kill(pid, 'SIGSTOP')
    const since = await vi.waitFor(async () => {
      const said = await the.condition(mine, 'Unreachable')
      expect(said).toMatchObject({ status: 'True' })
      return said?.lastTransitionTime
    }, PATIENCE)
    await vi.waitFor(
      async () =>
        expect(await the.condition(mine, 'Unreachable')).toMatchObject({
          status: 'True',
          reason: 'UnreachableForLong',
          lastTransitionTime: since,
        }),
      PATIENCE,
    )
    expect((await the.deployment(mine)).metadata.deletionTimestamp).toBeUndefined()
    process.kill(pid, 'SIGCONT')
    await untilReached(mine)
    const { data } = await clientOf(await the.secretOf(mine)).readNamespacedConfigMap({
      name: 'kept',
      namespace: 'default',
    })
    expect(data).toEqual({ by: 'the claimant' })
  })

  const change = (spec: object) =>
    the.world.plane.rest('PATCH', `${HIVE}/namespaces/${mine}/clusterdeployments/${mine}`, { spec })
  const untilPower = (state: string) =>
    vi.waitFor(async () => expect((await the.deployment(mine)).status?.powerState).toBe(state), PATIENCE)

  test('CLUSTER-6: one that has run for its hibernateAfter has no process any more, though its claim did nothing; it wakes up with its data', async () => {
    const { uid } = await the.apiServerOf(mine)
    const others = the.service.processes(the.service.folderOf('')).length - the.service.processes(uid).length
    expect(the.service.processes(uid)).toHaveLength(2)
    await change({ hibernateAfter: '30m' })
    await untilPower('Hibernating')
    expect((await the.deployment(mine)).spec.powerState).toBe('Hibernating')
    expect(the.service.processes(uid)).toEqual([])
    // The one that stands by is its pool's to switch: CLUSTER-6.
    expect(the.service.processes(the.service.folderOf(''))).toHaveLength(others)
    await change({ powerState: 'Running', hibernateAfter: null })
    await untilPower('Running')
    expect(the.service.processes(uid)).toHaveLength(2)
    const kept = { name: 'kept', namespace: 'default' }
    expect((await clientOf(await the.secretOf(mine)).readNamespacedConfigMap(kept)).data).toEqual({
      by: 'the claimant',
    })
  })

  test('CLUSTER-76: one that is to wake up while its provider gives no answer says so, and so does its claim; then it wakes up', async () => {
    await change({ powerState: 'Hibernating' })
    await untilPower('Hibernating')
    the.before.decide(() => 'drop')
    await change({ powerState: 'Running' })
    const message = expect.stringMatching(/ClusterLocal: cluster can't be .*: (GET|PATCH) \S+ got no answer/)
    await vi.waitFor(async () => {
      expect(await the.condition(mine, 'Ready')).toMatchObject({ status: 'False', reason: 'Resuming', message })
      const path = `${HIVE}/namespaces/${the.world.namespace}/clusterclaims/mine`
      const { status } = await the.get<ClusterDeployment>(path)
      expect(findCondition(status?.conditions, 'ClusterRunning')).toMatchObject({ status: 'False', message })
    }, PATIENCE)
    the.before.decide(() => 'pass')
    await untilPower('Running')
    await untilReached(mine)
  })

  test('CLUSTER-74: a kubeconfig whose certificate was renewed comes to the Secret by itself, before the former one ends', async () => {
    const former = await the.secretOf(mine)
    const { uid } = await the.apiServerOf(mine)
    // The service does it when a third of their life is left, which thirty days of three hundred are not.
    await ensureCertificates(the.service.folderOf(uid), 300 * DAY_MS, Date.now())
    // It looks at them once a minute, and when it starts.
    await the.service.kill()
    await the.service.start()
    const renewed = await vi.waitFor(async () => {
      const found = await the.secretOf(mine)
      expect(found).not.toBe(former)
      return found
    }, PATIENCE)
    for (const kubeconfig of [former, renewed]) expect(await namespacesOf(kubeconfig)).toContain('kube-system')
  })

  test('released, nothing is left: processes, folders, keys, Secrets, namespaces and records', async () => {
    const all = await the.clusters()
    const names = (await the.deployments()).map(({ metadata }) => metadata.name)
    expect(all).toHaveLength(2)
    await the.world.plane.kubectl(
      'delete',
      'clusterclaim/mine',
      `clusterpool/${POOL}`,
      `--namespace=${the.world.namespace}`,
      '--timeout=120s',
    )
    expect(await the.clusters()).toEqual([])
    for (const { uid } of all) expect(await the.service.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
    expect((await the.world.call<{ items: unknown[] }>('GET', '/clusters'))?.items).toEqual([])
    const secrets = await the.get<{ items: { metadata: { name: string } }[] }>('/api/v1/secrets')
    expect(secrets.items.filter(({ metadata }) => metadata.name.endsWith('-admin-kubeconfig'))).toEqual([])
    for (const name of names)
      expect((await the.get<{ status: { phase: string } }>(`/api/v1/namespaces/${name}`)).status.phase).toBe(
        'Terminating',
      )
  })
})
