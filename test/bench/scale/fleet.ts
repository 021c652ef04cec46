/** Whether a start of the fleet operator takes ten times as long with ten times the devices, and no more. */
import type { Bench, BenchContext } from '../definition.ts'
import { type FleetSize, openFleet } from '../fleet/ground.ts'
import type { Figure } from '../report/row.ts'

const SIZES: readonly FleetSize[] = [
  { devices: 10_000, deployments: 100 },
  { devices: 100_000, deployments: 1_000 },
]
/** More than ten thousand devices need more than the Deployment that ships gives: docs/sizing.md. */
const MEMORY_MIB = 1_024
const HEAP = { NODE_OPTIONS: `--max-old-space-size=${MEMORY_MIB * 0.75} --max-semi-space-size=2` }
/** Of the smaller fleet's, for each device. */
const LINEAR = { of: 'ratio', atMost: 1.2 } as const

const describe = ({ devices, deployments }: FleetSize): string =>
  `${devices.toLocaleString('en')} devices, ${deployments.toLocaleString('en')} Deployments`

export const scaleFleet: Bench = {
  name: 'scale-fleet',
  summary: `The fleet operator, bundled, with ${SIZES.map(describe).join(', and with ')}: cold start until Converged and memory.`,
  run: async (context) => {
    const figures: Figure[] = []
    let smaller: Start | undefined
    for (const size of SIZES) {
      const devices = context.sized(size.devices)
      const fleet = { devices, deployments: Math.max(1, Math.round((size.deployments * devices) / size.devices)) }
      const start = await coldStart(fleet, context)
      const where = describe(fleet)
      const peer = smaller && { name: 'the smaller fleet', value: smaller.msPerDevice }
      figures.push(
        { name: `${where}: cold start until Converged`, unit: 'ms', value: start.ms },
        {
          name: `${where}: cold start`,
          unit: 'ms/device',
          value: start.msPerDevice,
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
      smaller ??= start
    }
    context.note(`The operator has a heap of ${MEMORY_MIB * 0.75} MiB at most, for a limit of ${MEMORY_MIB} MiB.`)
    return figures
  },
}

interface Start {
  readonly ms: number
  readonly msPerDevice: number
  readonly rssMiB: number
  readonly peakRssMiB: number
}

const coldStart = async (size: FleetSize, { say }: BenchContext): Promise<Start> => {
  await using ground = await openFleet(size, say, { env: HEAP })
  const first = await ground.operate()
  await ground.settle(first)
  await first[Symbol.asyncDispose]()
  say('a cold start')
  await using second = await ground.operate()
  const { rssMiB, peakRssMiB } = second.process.usage()
  const ms = second.process.readyMs
  return { ms, msPerDevice: ms / size.devices, rssMiB, peakRssMiB }
}
