import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { heartbeatCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { FleetState } from '#controllers/fleet/state/fleet-state.ts'
import { CREATED, deploymentOf, deviceOf, viewOf } from '#test/worlds/fleet/builders.ts'
import type { Bench } from '../definition.ts'
import { upTo } from '../in-parallel.ts'
import type { Figure } from '../report/row.ts'

const SIZES = [10_000, 100_000, 1_000_000] as const
const DEPLOYMENTS = 10
const EVENTS = 20_000
/** From the smallest fleet to the largest. */
const FLAT: Figure['target'] = { of: 'ratio', atMost: 1.5 }
const KIB = 1_024

/** Without NATS and Kubernetes, and so without the sizes that a machine has room for. */
export const scaleSimulation: Bench = {
  name: 'scale-simulation',
  summary: `What the fleet operator knows, without any I/O, with ${SIZES.map((size) => size.toLocaleString('en')).join(', ')} devices and ${DEPLOYMENTS} Deployments, one of them for each device: memory of a device, and the CPU that an event takes until what follows from it is decided.`,
  run: async ({ say, note, sized }) => {
    // V8 compiles what runs often: the first fleet would pay for all.
    simulate(sized(SIZES[0]))
    const figures: Figure[] = []
    let smallest: ReadonlyMap<string, number> | undefined
    for (const size of SIZES.map(sized)) {
      say(`${size} devices`)
      const measured = simulate(size)
      for (const [name, value] of measured) {
        const before = smallest?.get(name)
        figures.push({
          name: `${size.toLocaleString('en')} devices: ${name}`,
          unit: name === MEMORY ? 'KiB' : 'µs',
          value,
          ...(before !== undefined && { peer: { name: 'the smallest fleet', value: before }, target: FLAT }),
        })
      }
      smallest ??= measured
    }
    note(
      'A Device that changes is compared with every Deployment: that term grows with the Deployments, not with the devices.',
    )
    return figures
  },
}

const MEMORY = 'memory of a device'

/** By name: KiB, and µs an event. */
const simulate = (size: number): ReadonlyMap<string, number> => {
  const before = heapBytes()
  const fleet = new SimulatedFleet(size)
  const measured = new Map([[MEMORY, (heapBytes() - before) / size / KIB]])
  // Spread over the fleet, as what happens is.
  const place = (event: number) => (event * 7_919) % size
  const events: Readonly<Record<string, (index: number, event: number) => void>> = {
    'a heartbeat': (index) => fleet.beat(index),
    'a report': (index, event) => fleet.report(index, event % 2 === 0 ? 'Failed' : 'Running'),
    'a changed Device': (index, event) => fleet.enter(index, String(event)),
  }
  for (const [name, happen] of Object.entries(events)) {
    const began = process.cpuUsage()
    for (const event of upTo(EVENTS)) happen(place(event), event)
    const { user, system } = process.cpuUsage(began)
    measured.set(name, (user + system) / EVENTS)
  }
  return measured
}

class SimulatedFleet {
  readonly #state = new FleetState()
  #revision = 0

  constructor(size: number) {
    for (const n of upTo(DEPLOYMENTS))
      this.#state.deploymentSeen(
        viewOf(deploymentOf(`deployment-${n}`, { selector: { matchLabels: { group: `g${n}` } } })),
      )
    for (let index = 0; index < size; index += 1) {
      this.enter(index, '1')
      this.beat(index)
      this.report(index, 'Running')
    }
  }

  enter(index: number, version: string): void {
    this.#state.deviceSeen(deviceOf(nameOf(index), { group: `g${index % DEPLOYMENTS}` }, false, { version }))
    this.#settle()
  }

  beat(index: number): void {
    const bytes = heartbeatCodec.encode({ boot: 'b', at: CREATED }, 0)
    this.#state.heartbeatSeen({ key: nameOf(index), bytes, revision: this.#next() })
    this.#settle()
  }

  report(index: number, phase: 'Running' | 'Failed'): void {
    const deployment = `deployment-${index % DEPLOYMENTS}`
    const bytes = stateCodec.encode({ phase, uid: `uid-of-${deployment}`, revision: 1, at: CREATED }, 1)
    this.#state.stateSeen({ key: `${nameOf(index)}.shop.${deployment}`, bytes, revision: this.#next() })
    this.#settle()
  }

  /** What follows is stored at once. */
  #settle(): void {
    for (const write of this.#state.takeWrites())
      this.#state.desiredSeen({
        key: write.key,
        bytes: write.kind === 'Put' ? write.bytes : undefined,
        revision: this.#next(),
      })
    this.#state.takeDirtyDeployments()
    this.#state.takeDirtyDevices()
  }

  #next(): number {
    this.#revision += 1
    return this.#revision
  }
}

const nameOf = (index: number): string => `device-${index}`

/** What is left after a collection. */
const heapBytes = (): number => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
