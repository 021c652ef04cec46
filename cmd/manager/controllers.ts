import type { Registry } from 'prom-client'
import type { FleetViewRef } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { RunHistory } from '#controllers/adapter/runs/run-history.ts'
import type { AnyController } from '#operator/controller.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { ControllerName } from './catalogue.ts'
import type { ManagerOptions } from './command.ts'

/** What controllers are made from. */
export interface Deps {
  /** The last runs of adapter tasks, for those who read them in this process. */
  readonly runs: RunHistory
  /** Where the fleet operator leaves its view, for the same. */
  readonly fleet: FleetViewRef
  readonly clock: Clock
  readonly registry: Registry
  readonly version: string
  /** Of this process: `<host name>_<random>`. */
  readonly identity: string
  readonly options: ManagerOptions
  /** Where this process keeps its own objects, such as Leases. */
  readonly home: string
}

/** How each controller is made; its code is loaded with it. */
const makers: Readonly<Record<ControllerName, (deps: Deps) => Promise<AnyController | readonly AnyController[]>>> = {
  sentinel: async ({ options: { config, denyOverlap, hyperfleetApiTokenFile }, ...deps }) => {
    const { sentinel } = await import('#controllers/sentinel/index.ts')
    return sentinel({ ...deps, config, denyOverlap, hyperfleetApiTokenFile })
  },
  adapter: async ({ options: { adapterEnv, adapterFiles, adapterHttpTargets, denyInvalidTasks }, ...deps }) => {
    const { adapter } = await import('#controllers/adapter/index.ts')
    return adapter({
      ...deps,
      variables: adapterEnv,
      files: adapterFiles,
      httpTargets: adapterHttpTargets,
      denyInvalid: denyInvalidTasks,
    })
  },
  clusterdeployment: async ({ options: { hyperfleetApiUrl, hyperfleetApiTokenFile }, ...deps }) => {
    const { clusterDeployment } = await import('#controllers/clusterdeployment/index.ts')
    return clusterDeployment({ ...deps, hyperfleetApiUrl, hyperfleetApiTokenFile })
  },
  clusterdevice: async ({ options, version }) => {
    const { clusterDevice } = await import('#controllers/clusterdevice/index.ts')
    const { natsUrl: url, natsCredentials: credentials, clusterDeviceLabels: labels } = options
    return clusterDevice({ nats: { url, credentials }, labels, stateDir: options.clusterDeviceStateDir, version })
  },
  clusterpool: async ({ clock, registry }) => {
    const { clusterPool } = await import('#controllers/clusterpool/index.ts')
    const { clusterDeploymentCustomization } = await import('#controllers/clusterdeploymentcustomization/index.ts')
    return [clusterPool({ clock, registry }), clusterDeploymentCustomization()]
  },
  clusterclaim: async () => {
    const { clusterClaim } = await import('#controllers/clusterclaim/index.ts')
    return clusterClaim()
  },
  fleet: async ({ options: { natsUrl, natsCredentials, namespace }, home, fleet: viewRef, ...deps }) => {
    const { fleet } = await import('#controllers/fleet/index.ts')
    const nats = { url: natsUrl, credentials: natsCredentials }
    return fleet({ ...deps, nats, namespace, leaseNamespace: home, viewRef })
  },
}

/**
 * Loads a controller, with those of other kinds that belong to it, and makes it: a bundle has one chunk a controller, and only those
 * that run take memory.
 */
export const load = async (name: ControllerName, deps: Deps): Promise<readonly AnyController[]> =>
  [await makers[name](deps)].flat()
