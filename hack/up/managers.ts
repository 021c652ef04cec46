import { type Home, type Manager, settingOf } from '../muster/managers.ts'
import { startMuster } from './muster.ts'
import type { Run } from './run.ts'

export interface Place extends Home {
  readonly run: Run
  readonly logs: string
}

/** One that runs. */
export interface RunningManager {
  readonly subject: string
  readonly metricsUrl: string
  /** Open to every user of this machine. */
  readonly dashboardUrl: string
  readonly tokenFile: string
}

/** Starts one and waits until it is ready. @param more flags of its own */
export const startManager = async (
  place: Place,
  manager: Manager,
  ...more: readonly string[]
): Promise<RunningManager> => {
  const { run, logs } = place
  const { subject } = manager
  const { args, env, dashboardUrl, tokenFile } = await settingOf(place, manager, ...more)
  const child = await startMuster({ name: 'manager', log: subject.toLowerCase(), args, folder: logs, env })
  run.undo(`Stopping the manager of the ${subject}`, async () => void (await child.stop()))
  run.watch(child)
  return { subject, metricsUrl: child.metricsUrl, dashboardUrl, tokenFile }
}
