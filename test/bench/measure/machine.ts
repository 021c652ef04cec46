import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'

/** What a reader needs to judge the figures: they compare within a run, not between machines. */
export interface Machine {
  readonly cores: number
  readonly cpu: string
  readonly memoryGiB: number
  /** One-minute load average when the run began. */
  readonly load: number
  readonly node: string
  readonly platform: string
}

export const machine = (): Machine => ({
  cores: availableParallelism(),
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  node: process.version,
  platform: `${process.platform}-${process.arch}`,
})

export const formatMachine = ({ cores, cpu, memoryGiB, load, node, platform }: Machine): string =>
  `${cores} cores (${cpu}), ${memoryGiB} GiB, load ${load}, Node.js ${node}, ${platform}`
