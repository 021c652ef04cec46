/** Whether a start of the fleet operator takes ten times as long with ten times the devices, and no more. */
import type { Bench, BenchContext } from '../definition.ts'
import { type FleetSize, openFleet } from '../fleet/ground.ts'
import type { Figure } from '../report/row.ts'

const SIZES: readonly FleetSize[] = [
  { devices: 10_000, deployments: 100 },
  { devices: 50_000, deployments: 500 },
  { devices: 100_000, deployments: 1_000 },
]
/** More than ten thousand devices need more than the Deployment that ships gives: docs/sizing.md. */
const MEMORY_MIB = 1_024
const HEAP = { NODE_OPTIONS: `--max-old-space-size=${MEMORY_MIB * 0.75} --max-semi-space-size=2` }
/** A start on a machine that has other work. */
const START_MS = 600_000
/** Of the smallest fleet's, for each device. */
const LINEAR = { of: 'ratio', atMost: 1.2 } as const

const describe = ({ devices, deployments }: FleetSize): string =>
  `${devices.toLocaleString('en')} devices, ${deployments.toLocaleString('en')} Deployments`

export const scaleFleet: Bench = {
  name: 'scale-fleet',
  summary: `The fleet operator, bundled, with ${SIZES.map(describe).join(', with ')}: cold start until Converged and memory.`,
  run: async (context) => {
    const figures: Figure[] = []
    let smallest: Start | undefined
    for (const size of SIZES) {
      const devices = context.sized(size.devices)
      const fleet = { devices, deployments: Math.max(1, Math.round((size.deployments * devices) / size.devices)) }
      const start = await coldStart(fleet, context)
      const where = describe(fleet)
      // Of CPU, which other work on the machine changes little.
      const peer = smallest && { name: 'the smallest fleet', value: smallest.cpuPerDevice }
      figures.push(
        { name: `${where}: cold start until Converged`, unit: 'ms', value: start.ms },
        {
          name: `${where}: CPU of the operator until then`,
          unit: 'ms/device',
          value: start.cpuPerDevice,
          peer,
          ...(peer !== undefined && { target: LINEAR }),
        },
        { name: `${where}: RSS after it`, unit: 'MiB', value: start.rssMiB },
        {
          name: `${where}: peak RSS`,
          unit: 'MiB',
          value: start.peakRssMiB,
          target: { of: 'value', atMost: MEMORY_MIB },
        },
      )
      smallest ??= start
    }
    context.note(
      'A start grows with the devices and with the Deployments, and no term of it grows faster: each device is read once from each of four buckets and from Kubernetes, and compared with the Deployments that its labels may select (FLEET-126). Some 0.6 s of CPU are of no device. Before that rule a start with 50,000 devices and 500 Deployments was not over after a minute.',
    )
    context.note(`The operator has a heap of ${MEMORY_MIB * 0.75} MiB at most, for a limit of ${MEMORY_MIB} MiB.`)
    return figures
  },
}

interface Start {
  readonly ms: number
  readonly cpuPerDevice: number
  readonly rssMiB: number
  readonly peakRssMiB: number
}

const coldStart = async (size: FleetSize, { say }: BenchContext): Promise<Start> => {
  // One device of each Deployment enters; all others are as these are.
  await using ground = await openFleet({ ...size, devices: size.deployments }, say, {
    env: HEAP,
    readyWithin: START_MS,
  })
  {
    await using first = await ground.operate()
    await ground.settle(first)
  }
  await ground.multiply(size.devices)
  {
    await using second = await ground.operate()
    await ground.settleFurther(second)
  }
  say('a cold start')
  await using third = await ground.operate()
  const { cpuMs, rssMiB, peakRssMiB } = third.process.usage()
  return { ms: third.process.readyMs, cpuPerDevice: cpuMs / size.devices, rssMiB, peakRssMiB }
}
