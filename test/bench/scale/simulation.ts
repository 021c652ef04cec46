import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Bench } from '../definition.ts'
import { upTo } from '../in-parallel.ts'
import type { Figure } from '../report/row.ts'
import { deviceName, type Happening, SimulatedFleet } from './simulated-fleet.ts'

const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const
const DEPLOYMENTS = 10
/** Of the fleet of `SIZES[1]`: each has ten devices. */
const MANY_DEPLOYMENTS = 1_000
/** At least: V8 collects garbage seldom, and by then each event has to have its share of it. */
const EVENTS = 20_000
/** Events that are made ready at once: so few stay in the caches. */
const BATCH = 500
/** From a fleet of ten thousand to the largest: a smaller one has all it knows in the caches of a core. */
const FLAT: Figure['target'] = { of: 'ratio', atMost: 1.5 }
const KIB = 1_024

/** Without NATS and Kubernetes, and so without the sizes that a machine has room for. */
export const scaleSimulation: Bench = {
  name: 'scale-simulation',
  summary: `The state of the fleet operator, without any I/O, with ${SIZES.map((size) => size.toLocaleString('en')).join(', ')} devices and ${DEPLOYMENTS} Deployments, one of them for each device: memory of a device, and the CPU that an event takes until what follows from it is decided, the collection of garbage included.`,
  run: async ({ say, note, sized }) => {
    // V8 compiles what runs often: the first fleet would pay for all.
    simulate(sized(SIZES[1]), DEPLOYMENTS)
    const figures: Figure[] = []
    let ordinary: ReadonlyMap<string, number> | undefined
    const add = (where: string, measured: ReadonlyMap<string, number>): void => {
      for (const [name, value] of measured) {
        const before = ordinary?.get(name)
        figures.push({
          name: `${where}: ${name}`,
          unit: name === MEMORY ? 'KiB' : 'µs',
          value,
          ...(before !== undefined && { peer: { name: `${SIZES[1].toLocaleString('en')} devices`, value: before } }),
          ...(before !== undefined && name !== LOOK_UP && { target: FLAT }),
        })
      }
    }
    for (const [position, size] of SIZES.map(sized).entries()) {
      say(`${size} devices`)
      const measured = simulate(size, DEPLOYMENTS)
      add(`${size.toLocaleString('en')} devices`, measured)
      if (position === 1) ordinary = measured
    }
    const [size, deployments] = [sized(SIZES[1]), sized(MANY_DEPLOYMENTS)]
    say(`${size} devices, ${deployments} Deployments`)
    // What Deployments take themselves is no device's.
    const changed = [...simulate(size, deployments)].filter(([name]) => name === CHANGED)
    add(`${size.toLocaleString('en')} devices, ${deployments.toLocaleString('en')} Deployments`, new Map(changed))
    note(
      'The term that grows is the time of the machine’s memory, no number of steps: an event looks its device up in maps of all of them, a heartbeat in one and the others in three, and goes to what it finds there. With 10,000 devices that is in the caches of a core, with 1,000,000 it is read from memory. One such look-up is the last row of each fleet; it is of the thread that works.',
    )
    note(
      'Where Devices are replaced, V8 marks what is left each time its heap has grown by a part: of 1,000,000 devices that takes some 8 s of CPU, about 5 µs for each that changes, the thread that works has about 12 µs.',
    )
    note('With 1,000 Deployments a changed Device is compared with those alone that its labels may select (FLEET-126).')
    return figures
  },
}

const MEMORY = 'memory of a device'
const CHANGED = 'a changed Device'
const LOOK_UP = 'a look-up of a name'

/** By name: KiB, and µs an event. */
const simulate = (size: number, deployments: number): ReadonlyMap<string, number> => {
  const before = heapBytes()
  const fleet = new SimulatedFleet(size, deployments)
  const measured = new Map([[MEMORY, (heapBytes() - before) / size / KIB]])
  const events = Math.max(EVENTS, size)
  // Spread over the fleet, as what happens is.
  const place = (event: number) => (event * 7_919) % size
  const kinds: Readonly<Record<string, (event: number) => Happening>> = {
    'a heartbeat': (event) => fleet.beat(place(event)),
    'a report': (event) => fleet.report(place(event), event % 2 === 0 ? 'Failed' : 'Running'),
    [CHANGED]: (event) => fleet.enter(place(event), String(event)),
  }
  for (const [name, make] of Object.entries(kinds)) measured.set(name, cpuOf(events, make))
  const share = Math.max(1, size / deployments)
  const rounds = Math.ceil(EVENTS / share)
  measured.set(
    'a changed Deployment, for each of its devices',
    cpuOf(rounds, (round) => fleet.deploy(round % deployments)) / share,
  )
  measured.set(LOOK_UP, lookUp(size, events, place))
  return measured
}

/** µs that the working thread takes to find a device in a map of all. */
const lookUp = (size: number, events: number, place: (event: number) => number): number => {
  const devices = new Map(upTo(size).map((index) => [deviceName(index), index]))
  let [took, sum] = [0, 0]
  for (let from = 0; from < events; from += BATCH) {
    const names = upTo(BATCH).map((index) => deviceName(place(from + index)))
    const began = microseconds(process.threadCpuUsage())
    for (const name of names) sum += devices.get(name) ?? Number.NaN
    took += microseconds(process.threadCpuUsage()) - began
  }
  if (Number.isNaN(sum)) throw new Error('a device is not in the map')
  return took / (Math.ceil(events / BATCH) * BATCH)
}

/** µs of CPU that each of so many takes, all threads of V8 included; not what it takes to make them ready. */
const cpuOf = (count: number, make: (index: number) => Happening): number => {
  let preparing = 0
  const began = microseconds(process.cpuUsage())
  for (let from = 0; from < count; from += BATCH) {
    const beganBatch = microseconds(process.threadCpuUsage())
    const batch = upTo(Math.min(BATCH, count - from)).map((index) => make(from + index))
    preparing += microseconds(process.threadCpuUsage()) - beganBatch
    for (const happen of batch) happen()
  }
  return (microseconds(process.cpuUsage()) - began - preparing) / count
}

const microseconds = ({ user, system }: NodeJS.CpuUsage): number => user + system

/** What is left after a collection. */
const heapBytes = (): number => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
