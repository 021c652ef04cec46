import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { FleetViewRef } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { RunHistory } from '#controllers/adapter/runs/run-history.ts'
import { createLogger } from '#lib/log/logger.ts'
import { collectAfterStart } from '#lib/process/collect-garbage.ts'
import { detach } from '#lib/process/detach.ts'
import { logUnhandledRejections } from '#lib/process/unhandled-rejections.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { createHealth, serveHealth } from '#operator/health.ts'
import { createRegistry, runtimeMetrics, serveMetrics } from '#operator/metrics.ts'
import { systemClock } from '#operator/model/clock.ts'
import { merged } from '#operator/model/permission.ts'
import type { Resource } from '#operator/model/resource.ts'
import { operator } from '#operator/operator.ts'
import { buildInfo } from '../build-info.ts'
import { stopOnSignals } from '../signals.ts'
import type { ManagerOptions } from './command.ts'
import { entriesOf } from './controllers.ts'
import { dashboardPermissions } from './dashboard-binding.ts'
import { electionOf, electionPermissions } from './election.ts'
import { fleetUnready } from './fleet-readiness.ts'
import { permissions } from './permissions.ts'
import { type Needs, preflight } from './preflight.ts'
import { remedy } from './remedy.ts'
import { runsPermissions } from './runs-permission.ts'
import { sentinelUnready } from './sentinel-readiness.ts'
import { checkTaskAccounts } from './task-accounts.ts'
import { admissionOf, webhookPermissions } from './webhook.ts'

/** Milliseconds after the caches are filled: what they led to has been looked at by then. */
const START_ENDS_MS = 3000

/**
 * Runs controllers until a signal stops them.
 * @throws Failure, UsageError, KubeConfigError or BindingError when they can't begin to run
 */
export const runManager = async (options: ManagerOptions): Promise<void> => {
  const signal = stopOnSignals()
  try {
    await manage(options, signal)
  } catch (error) {
    if (error !== signal.reason) throw error
  }
}

const manage = async (options: ManagerOptions, signal: AbortSignal): Promise<void> => {
  checkTaskAccounts(options)
  const election = electionOf(options)
  const admission = admissionOf(options)
  const { version, commit } = buildInfo()
  const log = createLogger(options)
  logUnhandledRejections(log)
  const clock = systemClock
  const registry = createRegistry()
  const metrics = runtimeMetrics(registry)
  const health = createHealth(clock)
  // Until the caches have a check of their own: the API server is asked first, and meanwhile the process is not ready.
  health.check('caches', () => 'not begun: first the API server is asked whether everything is there')
  const identity = `${hostname()}_${randomBytes(4).toString('hex')}`
  await using running = new AsyncDisposableStack()

  const { kubeconfig, context, metricsBindAddress, healthProbeBindAddress } = options
  const userAgent = `muster/${version}`
  const transport = await loadTransport({ kubeconfig, context, clock, metrics: metrics.requests, userAgent })
  running.defer(() => transport.close())
  if (metricsBindAddress !== undefined) {
    const server = await serveMetrics(registry, metricsBindAddress, '--metrics-bind-address')
    running.defer(() => server.stop())
    log.info('serving metrics', { port: server.port })
  }
  if (healthProbeBindAddress !== undefined) {
    const server = await serveHealth(health, healthProbeBindAddress, '--health-probe-bind-address')
    running.defer(() => server.stop())
    log.info('serving health probes', { port: server.port })
  }
  await preflight(transport, needsOf(options), signal)

  const fleet: FleetViewRef = { view: undefined }
  const runs = new RunHistory()
  if (options.adapterRunsBindAddress !== undefined && options.controllers.includes('adapter')) {
    const { serveRunsTo } = await import('./runs.ts')
    const server = await serveRunsTo(options.adapterRunsBindAddress, { runs, transport, clock, options })
    running.defer(() => server.stop())
    log.info('serving runs of adapter tasks', { port: server.port })
  }
  const managerContext = { ...options, clock, registry, version, identity, runs, home: homeOf(options), fleet }
  const controllers = await Promise.all(entriesOf(options.controllers).map((entry) => entry.load(managerContext)))
  // Only a process with several controllers runs in the host: it brings a library and its memory along.
  const build = controllers.length > 1 ? (await import('#operator/host.ts')).hostedOperator : operator
  const manager = build({
    controllers,
    ...(options.namespace !== undefined && { namespaces: [options.namespace] }),
    ...(election !== undefined && { settings: { election } }),
    ...(admission !== undefined && { admission }),
    transport,
    clock,
    log,
    metrics,
    health,
    identity,
    remedy,
  })
  if (options.controllers.includes('fleet')) health.check('fleet', () => fleetUnready(fleet, manager.status()))
  const { config } = options
  if (config !== undefined && options.controllers.includes('sentinel'))
    health.check('config', () => sentinelUnready(config, manager.cache(SentinelConfig)?.values()))
  log.info('starting', { version, commit, controllers: options.controllers, server: transport.server })
  if (options.dashboardBind !== 'Nowhere') {
    const { openDashboard } = await import('./dashboard.ts')
    const server = await openDashboard({ options, manager, fleet, runs, transport, clock, log, version })
    running.defer(() => server?.stop())
  }
  const begun = (isReady: boolean): void => {
    if (!isReady) return
    log.info('caches are filled', { controllers: options.controllers })
    collectAfterStart(START_ENDS_MS)
  }
  detach('waiting until caches are filled', manager.ready.then(begun))
  await manager.start(signal)
  log.info('stopped', { signal: signal.reason })
}

const needsOf = (options: ManagerOptions): Needs => ({
  taskAccounts: options.adapterAccountsNamespace,
  kinds: [...new Set(entriesOf(options.controllers).flatMap(({ kinds }): readonly Resource[] => kinds))],
  permissions: merged([
    ...options.controllers.flatMap((name) => permissions[name]),
    ...electionPermissions(options),
    ...webhookPermissions(options),
    ...runsPermissions(options),
    ...dashboardPermissions(options),
  ]),
  namespace: options.namespace,
  home: homeOf(options),
})

/** Where this process keeps its own objects: its pod’s namespace, else the one that it watches. */
const homeOf = ({ namespace }: ManagerOptions): string => process.env.POD_NAMESPACE ?? namespace ?? 'default'
