import type { Registry } from 'prom-client'
import type { AnyController } from '#operator/controller.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { ControllerName } from './catalogue.ts'
import type { ManagerOptions } from './command.ts'

/** What controllers are made from. */
export interface Deps {
  readonly clock: Clock
  readonly registry: Registry
  readonly version: string
  /** Of this process: `<host name>_<random>`. */
  readonly identity: string
  readonly options: ManagerOptions
}

/** How each controller is made; its code is loaded with it. */
const makers: Readonly<Record<ControllerName, (deps: Deps) => Promise<AnyController>>> = {
  sentinel: async ({ options: { config, denyOverlap, hyperfleetApiTokenFile }, ...deps }) => {
    const { sentinel } = await import('#controllers/sentinel/index.ts')
    return sentinel({ ...deps, config, denyOverlap, hyperfleetApiTokenFile })
  },
  adapter: async ({ options: { adapterEnv, adapterFiles }, ...deps }) => {
    const { adapter } = await import('#controllers/adapter/index.ts')
    return adapter({ ...deps, variables: adapterEnv, files: adapterFiles })
  },
}

/** Loads a controller and makes it: a bundle has one chunk a controller, and only those that run take memory. */
export const load = (name: ControllerName, deps: Deps): Promise<AnyController> => makers[name](deps)
