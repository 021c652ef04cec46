import { systemClock } from '#operator/model/clock.ts'
import { start } from '#services/hyperfleet-api/start.ts'
import { buildInfo } from '../build-info.ts'
import { UsageError } from '../failure.ts'
import { createLogger } from '../log.ts'
import { stopOnSignals } from '../signals.ts'
import type { ApiOptions } from './command.ts'
import { explain } from './explain.ts'

/** Serves the HyperFleet API until a signal stops it. @throws Failure, UsageError when it can't begin to serve */
export const runApi = async (options: ApiOptions): Promise<void> => {
  const signal = stopOnSignals()
  const log = createLogger(options)
  const { bindAddress, metricsBindAddress, healthProbeBindAddress, ...rest } = options
  if (bindAddress === undefined) throw new UsageError('--bind-address: the API has to listen somewhere: write :8000')
  const api = await start({
    ...rest,
    listen: bindAddress,
    health: healthProbeBindAddress,
    metrics: metricsBindAddress,
    version: buildInfo().version,
    log,
    clock: systemClock,
  }).catch((error: unknown) => {
    throw explain(error, options)
  })
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  await api.stop()
  log.info('stopped', { signal: signal.reason })
}
