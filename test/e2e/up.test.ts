import { globSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { PARTS } from '#hack/cluster/local/layout.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startControlPlane } from '#test/harness/index.ts'
import { type ProcessGroup, startProcessGroup } from '#test/harness/process-group.ts'

const TIMEOUT = 600_000

interface Running {
  readonly pid: number
  readonly command: string
}

interface Up extends ProcessGroup {
  /** Processes, on this machine, that it or its children started and that still run. */
  left(): readonly Running[]
}

/** Starts it with a state folder of its own, by which its processes are known as well. */
const up = async (command: string, args: readonly string[]): Promise<Up> => {
  const home = await temporaryFolder('e2e')
  const group = await startProcessGroup(command, args, { XDG_STATE_HOME: home, MUSTER_CLUSTER: 'local' })
  return { ...group, left: () => processesWith(home) }
}

const npmRunUp = (...args: readonly string[]): Promise<Up> => up('npm', ['run', '-s', 'up', '--', ...args])

/** As npm does it, but npm has an exit code of its own when it is interrupted. */
const scriptOfUp = (...args: readonly string[]): Promise<Up> => up('node', ['hack/run.mjs', 'hack/up/up.ts', ...args])

const processesWith = (text: string): readonly Running[] =>
  globSync('/proc/[0-9]*/environ').flatMap((file) => {
    try {
      if (!readFileSync(file, 'utf8').includes(text)) return []
      const command = readFileSync(file.replace('environ', 'cmdline'), 'utf8').replaceAll('\0', ' ')
      return [{ pid: Number(file.split('/')[2]), command }]
    } catch {
      // It has just ended.
      return []
    }
  })

const said = async ({ output, exited }: Up, text: string): Promise<void> => {
  let ended = false
  void exited.then(() => {
    ended = true
  })
  while (!output().includes(text)) {
    if (ended) throw new Error(`npm run up ended without saying "${text}":\n${output()}`)
    await delay(50)
  }
}

/** Its lines, without what differs from run to run. */
const steps = (output: string): readonly string[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('✓') || line.startsWith('✗'))
    .map((line) => line.replace(/: .*/, ''))

test('npm run up -- --once brings everything up, sees the adapters make every sample Ready, deletes one, fills, claims from and refills a pool, has two real clusters and leaves nothing of them, rolls out to the fleet in two batches, and takes everything down', {
  timeout: TIMEOUT,
}, async () => {
  const run = await npmRunUp('--once')
  expect(await run.exited, run.output()).toBe(0)
  expect(steps(run.output())).toMatchInlineSnapshot(`
    [
      "✓ Find or start a cluster",
      "✓ Apply kustomize/overlays/dev",
      "✓ Start NATS",
      "✓ Start a service that gives real clusters",
      "✓ Start the HyperFleet API",
      "✓ Start the manager of the Sentinels as its ServiceAccount",
      "✓ Start the manager of the adapters as its ServiceAccount",
      "✓ Start the managers of pools and of their clusters as their ServiceAccounts",
      "✓ Start a NATS for the fleet that knows each device by its key",
      "✓ Start the manager of the fleet as its ServiceAccount",
      "✓ Start the manager of clusters as devices as its ServiceAccount",
      "✓ Start three agents and wait until their devices are heard and verify entries",
      "✓ Apply kustomize/samples",
      "✓ Wait until every AdapterTask takes events",
      "✓ Create sample clusters and node pools",
      "✓ Watch the adapters until every sample is Ready",
      "✓ Delete the cluster seattle and watch it and its node pool go",
      "✓ Watch the pool edge until its three clusters are ready",
      "✓ Claim a cluster of edge and watch the pool refill",
      "✓ Delete the claim and watch its cluster go and its customization become free",
      "✓ Watch the pool lab until one real cluster runs and another one hibernates",
      "✓ Claim a cluster of lab and take its kubeconfig",
      "✓ List its namespaces with that kubeconfig, the one that the fleet makes there among them",
      "✓ Watch a second claim wait in the queue until the other cluster runs",
      "✓ Delete both claims and the pool lab",
      "✓ Roll greeter out to the devices in two batches",
      "✓ See that no process, folder, key in etcd and object of the real clusters is left",
      "✓ See the same in the status of every SentinelConfig",
      "✓ Stopping the agents",
      "✓ Stopping the manager of the devices",
      "✓ Stopping the manager of the fleet",
      "✓ Stopping the NATS of the fleet",
      "✓ Stopping the manager of the clusters",
      "✓ Stopping the manager of the pools",
      "✓ Stopping the manager of the adapters",
      "✓ Stopping the manager of the Sentinels",
      "✓ Stopping the HyperFleet API",
      "✓ Stopping the service and its clusters",
      "✓ Stopping NATS",
      "✓ Stopping the cluster",
    ]
  `)
  expect(run.output()).toContain(
    'cluster/nowhere is Ready (ClusterConfig=True ClusterLocal=True ClusterValidation=True)',
  )
  expect(run.output()).toContain('nodepool/seattle-web is gone')
  expect(run.output()).toContain('cluster/seattle is gone')
  expect(run.output()).toContain('clusterclaim/demo is ClusterClaimed')
  expect(run.output()).toContain('clusterpool/edge has 3 of 3 clusters ready, 1 claimed, inventory 4/4')
  expect(run.output()).toMatch(/clusterdeployment\/edge-\w+ is gone/)
  expect(run.output()).toContain('clusterclaim/demo is gone')
  expect(run.output()).toMatch(/hyperfleet-system +edge +3 +3 +0 +0 +4\/4/)
  expect(run.output()).toContain('clusterpool/lab has 1 of 2 clusters ready, 1 hibernated, 0 claimed, inventory 3/3')
  expect(run.output()).toMatch(/clusterclaim\/yours is NoClusters\n.*clusterclaim\/yours is ClusterClaimed/s)
  expect(run.output()).toMatch(/among them: default, kube-node-lease, kube-public, kube-system, team\n/)
  expect(run.output()).toMatch(/deployment\.fleet\.nationtech\.io\/greeter is \w+: batch 2\/2, 3\/3 devices run it/)
  expect(run.output()).toMatch(/default +greeter +3\/3 +0 +0 +0 +2\/2 +Inactive +1 /)
  for (const device of ['gate-1', 'gate-2', 'gate-3']) expect(run.output()).toContain(`device/${device} runs greeter`)
  expect(run.output()).toMatch(/hyperfleet-system +cluster-config +cluster-config +clusters +[1-9]/)
  await expect.poll(run.left).toEqual([])
})

test.for([
  ['SIGINT', 130, 'Start the manager'],
  ['SIGTERM', 130, 'Create sample clusters'],
] as const)('%s in the middle takes down what is up', { timeout: TIMEOUT }, async ([signal, code, step]) => {
  const run = await scriptOfUp('--once')
  await said(run, `… ${step}`)
  run.interrupt(signal)
  expect(await run.exited, run.output()).toBe(code)
  expect(run.output()).toContain('✓ Stopping the cluster')
  await expect.poll(run.left).toEqual([])
})

test('SIGKILL in the middle leaves nothing either', { timeout: TIMEOUT }, async () => {
  const run = await scriptOfUp('--once')
  await said(run, '✓ Start the manager of the Sentinels')
  run.interrupt('SIGKILL')
  await run.exited
  await expect.poll(run.left).toEqual([])
})

test('a manager that dies ends the run with its last words; real clusters can be left out', {
  timeout: TIMEOUT,
}, async () => {
  const run = await scriptOfUp('--no-real-clusters')
  await said(run, '… Watch the adapters')
  const manager = run.left().find(({ command }) => command.includes('--controllers=sentinel'))
  process.kill(manager?.pid ?? 0, 'SIGKILL')
  expect(await run.exited, run.output()).toBe(1)
  expect(run.output()).toMatch(
    /"Watch the adapters[^"]*" failed: the manager of the Sentinels ended \(SIGKILL\)\. Its log, .*sentinels\.log, ends with:\n\{/,
  )
  expect(run.output()).toContain('✓ Stopping the cluster')
  expect(run.output()).not.toContain('real clusters')
  await expect.poll(run.left).toEqual([])
})

test('on a cluster that was there before, Ctrl-C when all is up is the ordinary end: what was there stays, what was added goes', {
  timeout: TIMEOUT,
}, async () => {
  // With a node: Jobs of the samples have to run somewhere.
  await using controlPlane = await startControlPlane({ parts: PARTS })
  await controlPlane.rest('POST', '/api/v1/nodes', { metadata: { name: 'muster-0', labels: { type: 'kwok' } } })
  const objects = () => controlPlane.kubectl('get', 'crds,namespaces,clusterroles', '-o', 'name')
  await controlPlane.kubectl('create', 'namespace', 'hyperfleet-system')
  const before = await objects()

  const run = await scriptOfUp(`--kubeconfig=${controlPlane.kubeconfig}`)
  await said(run, 'All goes on; Ctrl-C ends')
  expect(run.output()).toContain('kubectl get sentinelconfigs,adaptertasks,clusterpools -A')
  expect(run.output()).toContain('kubectl get fleetdep,fleetdev -A')
  const dashboard = /(http:\S+) {2}fleet$/m.exec(run.output())?.[1] ?? ''
  expect(await (await fetch(`${dashboard}/deployments.json`)).text()).toContain('greeter')
  run.interrupt('SIGINT')

  expect(await run.exited, run.output()).toBe(0)
  expect(await objects()).toBe(before)
  await expect.poll(run.left).toEqual([])
})

test('a bad flag is refused with the way to the right ones', { timeout: TIMEOUT }, async () => {
  const run = await npmRunUp('--onec')
  expect(await run.exited).not.toBe(0)
  expect(run.output()).toContain("unknown option '--onec'")
  expect(run.output()).toContain('--once')
})

test('a cluster that is not there is a reason with a remedy', { timeout: TIMEOUT }, async () => {
  const run = await scriptOfUp('--once', '--kubeconfig=/nonexistent')
  expect(await run.exited).toBe(1)
  expect(run.output()).toContain(
    'an existing cluster, as --kubeconfig or --context says: There is no kubeconfig /nonexistent: give one with',
  )
  await expect.poll(run.left).toEqual([])
})
