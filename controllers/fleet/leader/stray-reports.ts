/**
 * Clears what a device reported of Deployments that do not exist, once that is too much: with a stolen key it would fill the bucket in
 * which all others report. A report is a copy of what its device knows, which it says again (AGENT-25), so clearing one loses nothing.
 * FLEET-92.
 */
import { messageOf } from '#lib/errors/message-of.ts'
import type { Events } from '#operator/client/events.ts'
import type { Logger } from '#operator/model/log.ts'
import type { DeviceCache } from '../cache/devices.ts'
import type { Metrics } from '../metrics.ts'
import type { FleetStores } from '../sources/nats.ts'
import type { FleetState } from '../state/fleet-state.ts'
import { MAX_STRAY_REPORTS, type StraySuspicion } from '../state/stray-reports.ts'

interface Options {
  readonly state: FleetState
  readonly devices: Pick<DeviceCache, 'object'>
  /** Undefined while NATS is away. */
  stores(): FleetStores | undefined
  readonly events: Events
  readonly metrics: Metrics
  readonly log: Logger
}

/** One pass. Never throws: what fails is looked at again. */
export const clearStrayReports = async (options: Options): Promise<void> => {
  const { state, log } = options
  const stores = options.stores()
  if (stores === undefined) return
  for (const suspicion of state.strayReports.take()) {
    try {
      await clearReportsOf(suspicion, stores, options)
    } catch (error) {
      state.strayReports.putBack(suspicion)
      log.warn('fleet: reports of Deployments that do not exist could not be removed, trying again', {
        device: suspicion.device,
        problem: messageOf(error),
      })
    }
  }
}

const clearReportsOf = async (
  { device, isFlood, isOwn }: StraySuspicion,
  { reports }: FleetStores,
  { state, devices, events, metrics, log }: Options,
): Promise<void> => {
  const stray = (await reports.keys(device)).filter((key) => !state.isAnswer(key))
  if (stray.length <= MAX_STRAY_REPORTS) return
  await reports.clear(device)
  for (const key of stray) state.stateSeen({ key, bytes: undefined, revision: 0 })
  metrics.clearedReports.inc(stray.length)
  if (!isFlood) return
  const advice = isOwn
    ? 'Unless you know why, take its key away'
    : 'They are no reports, so any device with a stolen key may have had the server write them: this one’s key need not be the one'
  const message = `it reported ${stray.length} Deployments that do not exist: all its reports were removed, and its agent says again what it runs. ${advice}`
  const object = devices.object(device)
  if (object !== undefined) events.about(object).warning('ReportsCleared', message)
  log.warn('fleet: a device wrote too many reports of Deployments that do not exist, all its reports were removed', {
    device,
    count: stray.length,
  })
}
