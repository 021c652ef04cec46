/** Control planes of the provider `hosted`, as pods of a kind cluster. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { List, Summary } from '#test/e2e/kind/hosted-objects.ts'
import { hostedWorld } from '#test/e2e/kind/hosted-world.ts'
import { kindClusterMissing } from '#test/harness/ground/kind/cluster.ts'
import type { Bench } from '../definition.ts'
import { type ApiServer, connect } from '../load/client.ts'
import { median } from '../measure/statistics.ts'
import { claimUntilRunning, fill, HOSTED, hibernate, remove, resize } from './pool.ts'

const SIZE = 5
/** How often a kubelet reads what its pods use, and a while for them to settle. */
const SETTLED_MS = 45_000

interface NodeMemory {
  /** Of each control plane's pod, MiB. */
  readonly pods: readonly number[]
  /** Of all of the node, MiB. */
  readonly node: number
}

export const clustersHosted: Bench = {
  name: 'clusters-hosted',
  summary: 'A pool of control planes of the provider `hosted`, as pods of a kind cluster of its own.',
  run: async ({ say, note, sized }) => {
    const missing = kindClusterMissing()
    if (missing !== undefined) {
      note(missing)
      return []
    }
    say('a kind cluster with the suite')
    await using world = await hostedWorld({ next: false })
    const server = connect(world.cluster.kubeconfig, 4)
    await using _ = { [Symbol.asyncDispose]: () => server.close() }
    await sleep(SETTLED_MS)
    const before = await memoryOf(server)
    const size = sized(SIZE)
    say(`a pool of ${size}`)
    const filled = await fill(server, size, HOSTED)
    await sleep(SETTLED_MS)
    const full = await memoryOf(server)
    say('one is claimed')
    const claimed = await claimUntilRunning(server, 'bench')
    say('all others to sleep, and up again')
    await hibernate(server)
    const woken = await resize(server, size)
    await remove(server)
    return [
      {
        name: `a pool of ${size} clusters as pods until all run`,
        unit: 'ms',
        value: filled,
        target: { of: 'value', atMost: 120_000 },
      },
      { name: 'claim of one of them until it says that it runs', unit: 'ms', value: claimed },
      { name: `${size} of them that sleep or are new, until all run`, unit: 'ms', value: woken },
      { name: 'memory of the pod of one', unit: 'MiB', value: median(full.pods) },
      { name: 'memory of the node with the suite, without a cluster', unit: 'MiB', value: before.node },
      { name: `memory of the node with ${size} clusters`, unit: 'MiB', value: full.node },
    ]
  },
}

const memoryOf = async (server: ApiServer): Promise<NodeMemory> => {
  const nodes = (await server.request('GET', '/api/v1/nodes')) as List<{ metadata: { name: string } }>
  const path = `/api/v1/nodes/${nodes.items[0]?.metadata.name}/proxy/stats/summary`
  const { node, pods } = (await server.request('GET', path)) as Summary
  const mib = (bytes: number): number => bytes / 2 ** 20
  return {
    pods: pods
      .filter(({ podRef }) => podRef.name.endsWith('-control-plane-0'))
      .map(({ memory }) => mib(memory?.workingSetBytes ?? 0)),
    node: mib(node.memory.workingSetBytes),
  }
}
