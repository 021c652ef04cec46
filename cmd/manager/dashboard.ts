import { join } from 'node:path'
import type { FleetView } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { AdapterRuns } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import { type Binding, BindingError, isLoopback } from '#operator/binding.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Operator } from '#operator/operator.ts'
import type { SideServer } from '#operator/serve.ts'
import { createGuard } from '#services/dashboard/access/guard.ts'
import { serveDashboard } from '#services/dashboard/serve.ts'
import type { ManagerOptions } from './command.ts'
import { DASHBOARD_BINDING, isInCluster } from './dashboard-binding.ts'
import { selfSigned } from './self-signed.ts'

const FLAG = '--dashboard-bind'

export interface DashboardParts {
  readonly options: ManagerOptions
  readonly manager: Pick<Operator, 'cache'>
  /** Empty while this process runs no fleet operator. */
  readonly fleet: { readonly view: FleetView | undefined }
  readonly runs: AdapterRuns
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
}

/**
 * Serves the dashboard. The address is optional: without one, a port that is taken, as by another manager on this machine, is no failure.
 * @returns undefined when it is not served
 * @throws BindingError when the address that was given can't be listened on
 */
export const openDashboard = async (parts: DashboardParts): Promise<SideServer | undefined> => {
  const { options, log } = parts
  const { dashboardBind } = options
  if (dashboardBind === 'Nowhere') return undefined
  if (dashboardBind !== undefined) return serveAt(dashboardBind, parts)
  try {
    return await serveAt(DASHBOARD_BINDING, parts)
  } catch (error) {
    if (!(error instanceof BindingError)) throw error
    log.warn('no dashboard is served', { problem: error.message })
    return undefined
  }
}

const serveAt = async (binding: Binding, parts: DashboardParts): Promise<SideServer> => {
  const { options, manager, fleet, runs, transport, clock, log, version } = parts
  const isOpen = isLoopback(binding) && !isInCluster()
  const server = await serveDashboard(
    {
      sources: {
        objects: (resource) => manager.cache(resource),
        fleet: () => fleet.view,
        runs: () => (options.controllers.includes('adapter') ? runs : undefined),
      },
      guard: isOpen ? undefined : createGuard(transport, clock),
      clock,
      log,
      version,
      assets: globalThis.MUSTER_BUILD === undefined ? undefined : join(import.meta.dirname, 'dashboard'),
    },
    binding,
    FLAG,
    isLoopback(binding) ? undefined : await selfSigned(clock),
  )
  log.info('serving the dashboard', { port: server.port, signIn: !isOpen })
  return server
}
