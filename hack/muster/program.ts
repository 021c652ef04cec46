/** How `muster` is started from a checkout, and how its probe is asked. */
import { join } from 'node:path'
import { request } from 'undici'
import type { Program } from '../process/child.ts'
import { freePort } from '../process/ports.ts'

/** A `muster` process. */
interface Command {
  /** For messages. */
  readonly name: string
  readonly args: readonly string[]
  /** Of its log, which is put into the folder. */
  readonly log: string
  readonly folder: string
  /** All that it gets. */
  readonly env: NodeJS.ProcessEnv
}

/** A process that answers on its probe. */
export interface ServedCommand extends Command {
  readonly name: 'api' | 'manager'
}

/** Starts it as often as one likes, always on the same ports. */
export interface ServedProgram extends Program {
  /** Says whether it works. */
  readonly probe: string
  readonly metricsUrl: string
}

const PROGRAM = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, '..', '..', 'cmd', 'muster.ts')]

/** It ends with us. */
export const servedProgram = async ({ name, args, ...command }: ServedCommand): Promise<ServedProgram> => {
  const [health, metrics] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const served = [`--health-probe-bind-address=${health}`, `--metrics-bind-address=${metrics}`]
  return {
    ...programOf({ ...command, name: `muster ${name}`, args: [name, ...args, ...served] }),
    probe: `http://${health}/readyz`,
    metricsUrl: `http://${metrics}/metrics`,
  }
}

/** The agent of a device: it has no probe, so a caller that wants to know that it is up looks at its Device. */
export const agentProgram = (device: string, { args, ...command }: Omit<Command, 'name' | 'log'>): Program =>
  programOf({
    ...command,
    name: `muster agent of ${device}`,
    log: device,
    args: ['agent', `--device=${device}`, ...args],
  })

const programOf = ({ name, args, log, folder, env }: Command): Program => ({
  name,
  command: process.execPath,
  args: [...PROGRAM, ...args],
  env,
  logFile: join(folder, `${log}.log`),
  guarded: true,
})

/** Whether the probe says yes; one that does not answer says no. */
export const saysReady = async (probe: string): Promise<boolean> => {
  try {
    const { statusCode, body } = await request(probe, { headersTimeout: 5_000 })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}
