/** What only a kubelet can show: that the pods are as their manifests say, and live and end as they should. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { TASK_WORK } from '#hack/muster/managers.ts'
import { kindClusterMissing } from '#test/harness/ground/kind/cluster.ts'
import { DATABASE_NAMESPACE } from '#test/harness/ground/kind/pods.ts'
import { NAMESPACE, type Pod, type StageWorld, stageWorld } from './world.ts'
import { validations, writer } from './writer.ts'

const MISSING = kindClusterMissing()

const PATIENCE = { timeout: 300_000, interval: 500 }

vi.setConfig({ testTimeout: 600_000 })

describe.skipIf(MISSING !== undefined)(MISSING ?? 'the suite as pods of a kubelet', () => {
  let world: StageWorld

  beforeAll(async () => {
    world = await stageWorld()
  }, 1_200_000)
  afterAll(() => world?.[Symbol.asyncDispose]())

  const kubectl = (...args: readonly string[]) => world.cluster.kubectl(...args, `--namespace=${NAMESPACE}`)
  const deployments = async (): Promise<readonly string[]> =>
    (await kubectl('get', 'deployments', '--output=name')).trim().split('\n')
  const isReady = ({ status }: Pod) =>
    status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false
  const API = 'app.kubernetes.io/name=hyperfleet-api'
  const ADAPTER = 'app.kubernetes.io/name=hyperfleet-adapter'

  // GITOPS-10
  test('containers can write nowhere but in volumes, have no capabilities, and run under seccomp, as users that are not root', async () => {
    for (const { metadata, status } of await world.pods()) {
      for (const { name, containerID } of status.containerStatuses ?? []) {
        const { status: seen, root } = await world.node.look(containerID)
        const { Uid, CapEff, CapPrm, CapBnd, CapInh, NoNewPrivs, Seccomp } = seen
        const none = '0'.repeat(16)
        expect({ pod: metadata.name, name, Uid, CapEff, CapPrm, CapBnd, CapInh, NoNewPrivs, Seccomp }).toEqual({
          pod: metadata.name,
          name,
          Uid: expect.stringMatching(/^65532\s+65532\s+65532\s+65532$/),
          CapEff: none,
          CapPrm: none,
          CapBnd: none,
          CapInh: none,
          NoNewPrivs: '1',
          // A filter is in force.
          Seccomp: '2',
        })
        expect(root).toContain('ro')
      }
    }
  })

  // GITOPS-13
  test('an API whose database is away is not ready and gets no calls; it is not restarted, and ready again when it is back', async () => {
    const restarts = (pods: readonly Pod[]) => pods.map(({ status }) => status.containerStatuses?.[0]?.restartCount)
    const before = restarts(await world.pods(API))
    const scale = (replicas: number) =>
      world.cluster.kubectl(
        'scale',
        'deployment/postgres',
        `--replicas=${replicas}`,
        `--namespace=${DATABASE_NAMESPACE}`,
      )
    const addresses = () =>
      kubectl(
        'get',
        'endpointslices',
        '--selector=kubernetes.io/service-name=hyperfleet-api',
        '--output=jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[0]}',
      )
    expect((await addresses()).split(' ')).toHaveLength(before.length)
    await scale(0)
    await expect.poll(async () => (await world.pods(API)).some(isReady), PATIENCE).toBe(false)
    await expect.poll(addresses, PATIENCE).toBe('')
    await scale(1)
    await expect.poll(async () => (await world.pods(API)).every(isReady), PATIENCE).toBe(true)
    expect(restarts(await world.pods(API))).toEqual(before)
  })

  test('a manager that hangs is restarted by its liveness probe, and is ready again', async () => {
    const [pod] = await world.pods(ADAPTER)
    const { name = '' } = pod?.metadata ?? {}
    const statusOf = async () =>
      (await world.pods(ADAPTER)).find(({ metadata }) => metadata.name === name)?.status.containerStatuses?.[0]
    const before = (await statusOf())?.restartCount ?? 0
    const { pid } = await world.node.look((await statusOf())?.containerID ?? '')
    await world.node.signal(pid, 'STOP')
    await expect.poll(async () => (await statusOf())?.restartCount, PATIENCE).toBe(before + 1)
    // A stopped process can't end by itself. How it ended may be told later than that it began anew.
    await expect.poll(async () => (await statusOf())?.lastState.terminated, PATIENCE).toMatchObject({ exitCode: 137 })
    await kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=300s')
  })

  // GITOPS-11
  test('each pod ends by itself, with exit 0, before its grace period is over', async () => {
    for (const { metadata, spec } of await world.pods()) {
      const ended = await endOf(world, metadata.name)
      expect({ pod: metadata.name, ...ended }).toMatchObject({ pod: metadata.name, exitCode: 0 })
      expect(ended.seconds).toBeLessThan(spec.terminationGracePeriodSeconds)
    }
    await world.rolledOut(NAMESPACE)
  })

  // GITOPS-12
  test('a rolling update of everything: no write is refused, none is lost, and no Job runs twice', async () => {
    await world.cluster.kubectl('apply', '--server-side', '--kustomize', 'kustomize/samples/tasks/cluster-validation')
    await kubectl('wait', 'adaptertasks', '--all', '--for=condition=Ready', '--timeout=300s')
    const writes = await writer(world)
    for (const deployment of await deployments()) await kubectl('rollout', 'restart', deployment)
    await world.rolledOut(NAMESPACE)
    const { confirmed, refused } = await writes.end()
    expect(refused).toEqual([])
    expect(confirmed.length).toBeGreaterThan(0)
    const jobs = confirmed.map((id) => `validate-${id}`).toSorted()
    await expect.poll(() => validations(world), { timeout: 500_000, interval: 2_000 }).toEqual(jobs)
    const starts = await world.cluster.kubectl(
      'get',
      'events',
      `--namespace=${TASK_WORK}`,
      '--field-selector=reason=SuccessfulCreate,involvedObject.kind=Job',
      '--output=jsonpath={range .items[*]}{.involvedObject.name} {.count}{"\\n"}{end}',
    )
    const ofTasks = starts.split('\n').filter((line) => line.startsWith('validate-'))
    expect(ofTasks.toSorted()).toEqual(jobs.map((job) => `${job} 1`))
  })

  // GITOPS-14
  test('a drain takes one pod of each Deployment that has a budget, and waits with the others until it is replaced', async () => {
    const [node = ''] = (
      await world.cluster.kubectl('get', 'nodes', '--output=jsonpath={.items[*].metadata.name}')
    ).split(' ')
    const before = (await world.pods(ADAPTER)).map(({ metadata }) => metadata.name)
    expect(before).toHaveLength(2)
    await world.cluster.kubectl('cordon', node)
    try {
      const drain = world.cluster.kubectl(
        'drain',
        node,
        `--pod-selector=${ADAPTER}`,
        '--ignore-daemonsets',
        '--delete-emptydir-data',
        '--timeout=30s',
      )
      await expect(drain).rejects.toThrow("violate the pod's disruption budget")
      const left = (await world.pods(ADAPTER)).map(({ metadata }) => metadata.name)
      expect(left).toHaveLength(1)
      expect(before).toContain(left[0])
    } finally {
      await world.cluster.kubectl('uncordon', node)
    }
    await world.rolledOut(NAMESPACE)
  })

  test('no container was ever ended for want of memory', async () => {
    for (const { metadata, status } of await world.pods())
      for (const { lastState } of status.containerStatuses ?? [])
        expect({ pod: metadata.name, ended: lastState.terminated?.reason }).not.toMatchObject({ ended: 'OOMKilled' })
  })
})

/** Deletes a pod, and tells how its container ended: kubelet says so before the pod is gone. */
const endOf = async ({ cluster }: StageWorld, name: string) => {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}`
  const { metadata } = await cluster.rest<Pod>('GET', path)
  const began = performance.now()
  // Held until its end has been read.
  await cluster.rest('PATCH', path, { metadata: { finalizers: ['muster.dev/test'] } })
  await cluster.rest('DELETE', path)
  const exitCode = await vi.waitFor(async () => {
    const { status } = await cluster.rest<Pod>('GET', path)
    const code = status.containerStatuses?.[0]?.state.terminated?.exitCode
    if (code === undefined) throw new Error(`${name} has not ended: ${JSON.stringify(status)}`)
    return code
  }, PATIENCE)
  const seconds = (performance.now() - began) / 1000
  await cluster.rest('PATCH', path, { metadata: { uid: metadata.uid, finalizers: null } })
  return { exitCode, seconds }
}
