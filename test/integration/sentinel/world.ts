/** What the Sentinel's tests stand on: a namespace with the Sentinel's own rights, SentinelConfigs in it, and Sentinels that run. */
import { Registry } from 'prom-client'
import { vi } from 'vitest'
import { SentinelConfig, type SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { sentinel } from '#controllers/sentinel/index.ts'
import type { SentinelOptions as ControllerOptions } from '#controllers/sentinel/options.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import type { Clock, DeepPartial } from '#operator/index.ts'
import { accountOf, type ControlPlane, recorder, runOperator, sharedControlPlane } from '#test/harness/index.ts'

export interface RunningSentinel {
  readonly registry: Registry
  /** Messages of its log, with their fields. */
  readonly lines: readonly string[]
  /** SIGTERM's effect: resolves when nothing is left running. */
  stop(): Promise<void>
}

export interface SentinelWorld extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly namespace: string
  /** As admin. */
  readonly api: Api
  /** Creates a SentinelConfig. */
  declare(name: string, spec: DeepPartial<SentinelConfigSpec>): Promise<void>
  /** Changes its spec by a merge patch. */
  change(name: string, spec: object): Promise<void>
  config(name: string): Promise<SentinelConfig>
  /** Resolves when the condition Ready has this reason; the SentinelConfig as it then is. */
  until(name: string, reason: string): Promise<SentinelConfig>
  /** A Sentinel as its ServiceAccount, whose resources live by this clock. */
  start(clock: Clock, options?: SentinelOptions): Promise<RunningSentinel>
}

/** How a Sentinel is started. */
export interface SentinelOptions
  extends Pick<
    ControllerOptions,
    'config' | 'hyperfleetApiUrl' | 'hyperfleetApiTokenFile' | 'hyperfleetApiCa' | 'httpTargets'
  > {
  readonly kubeconfig?: string
}

/** Long enough for a busy machine; nothing waits so long when all is well. */
export const PATIENCE = { timeout: 20_000, interval: 20 }

/** @param given a control plane of the test's own; the shared one when absent */
export const sentinelWorld = async (given?: ControlPlane): Promise<SentinelWorld> => {
  const plane = given ?? (await sharedControlPlane())
  const namespace = await plane.namespace('sentinel')
  const account = await accountOf(plane, 'sentinel', namespace)
  const kubeconfig = await account.kubeconfig()
  const transport = await plane.transport()
  const api = createApi(transport)
  const running: RunningSentinel[] = []

  const config = async (name: string): Promise<SentinelConfig> => {
    const found = await api.get(SentinelConfig, name, namespace)
    if (found === undefined) throw new Error(`there is no SentinelConfig ${name}`)
    return found
  }

  return {
    plane,
    namespace,
    api,
    config,
    async declare(name, spec) {
      await api.create(SentinelConfig, { metadata: { name, namespace }, spec: spec as SentinelConfigSpec })
    },
    async change(name, spec) {
      await api.patch(SentinelConfig, { name, namespace, type: 'merge', body: { spec } })
    },
    until: (name, reason) =>
      vi.waitFor(async () => {
        const found = await config(name)
        const ready = found.status?.conditions?.find(({ type }) => type === 'Ready')
        if (ready?.reason !== reason) throw new Error(`${name} is ${JSON.stringify(found.status)}, not ${reason}`)
        return found
      }, PATIENCE),
    async start(clock, { kubeconfig: given, ...deps } = {}) {
      const registry = new Registry()
      const lines: string[] = []
      const identity = `replica-${running.length}`
      // It would collect what all files of this worker have, which took most of a test's time.
      const tidy = { collectGarbage: () => undefined }
      const controllers = [sentinel({ clock, registry, version: 'test', identity, ...tidy, ...deps })]
      const log = recorder(lines)
      const manager = await runOperator(given ?? kubeconfig, { controllers, namespaces: [namespace], log, identity })
      const started = { registry, lines, stop: manager.stop }
      running.push(started)
      await manager.ready
      return started
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((started) => started.stop()))
      await plane.rest('DELETE', `/api/v1/namespaces/${namespace}`)
      await transport.close()
    },
  }
}
