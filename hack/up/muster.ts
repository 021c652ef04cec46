import { join } from 'node:path'
import { request } from 'undici'
import { type Child, startChild, untilReady } from '../process/child.ts'
import { freePort } from '../process/ports.ts'

/** A `muster` command that runs beside us, and that answers on its probe. */
export interface Command {
  readonly name: 'api' | 'manager'
  /** Of its log. */
  readonly log: string
  readonly args: readonly string[]
  /** Where the log goes. */
  readonly folder: string
}

const PROGRAM = join(import.meta.dirname, '..', '..', 'cmd', 'muster.ts')

/** Starts it and waits until `/readyz` says yes. @throws ProcessError with the last lines of its log */
export const startMuster = async ({
  name,
  log,
  args,
  folder,
}: Command): Promise<Child & { readonly metricsUrl: string }> => {
  const [health, metrics] = [await freePort(), await freePort()]
  const child = await startChild({
    name: `muster ${name}`,
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      PROGRAM,
      name,
      ...args,
      `--health-probe-bind-address=127.0.0.1:${health}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
    ],
    logFile: join(folder, `${log}.log`),
    guarded: true,
  })
  try {
    await untilReady(child, () => answersWell(`http://127.0.0.1:${health}/readyz`))
  } catch (error) {
    await child.kill()
    throw error
  }
  return { ...child, metricsUrl: `http://127.0.0.1:${metrics}/metrics` }
}

const answersWell = async (url: string): Promise<boolean> => {
  try {
    const { statusCode, body } = await request(url, { headersTimeout: 5_000 })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}
