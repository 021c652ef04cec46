import type { Cluster } from '@kubernetes/client-node'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { onTestFinished } from 'vitest'
import { type Reflector, type ReflectorOptions, reflect } from '#operator/client/reflector.ts'
import { createTransport, type Transport } from '#operator/client/transport.ts'
import type { WatchFailure } from '#operator/client/watch.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

export const CONFIG_MAPS: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  scope: 'Namespaced',
  subresources: [],
}

/** Kubernetes puts a ConfigMap of its own into every namespace; ours have this label. */
export const OURS = 'muster-test=yes'

export const configMap = (namespace: string, name: string, data: Record<string, string> = {}) => ({
  metadata: { name, namespace, labels: { 'muster-test': 'yes' } },
  data,
})

/** A transport for a kubeconfig, with something about its cluster changed, such as the URL to that of a proxy. Closed when the test ends. */
export const transportOf = (kubeconfig: string, change: Partial<Cluster> = {}): Transport => {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  config.clusters = config.clusters.map((cluster) => ({ ...cluster, ...change }))
  const transport = createTransport(config)
  onTestFinished(() => transport.close())
  return transport
}

export interface Watched {
  readonly reflector: Reflector<ConfigMap>
  /** `type name`, with the value of `data.v` when there is one, and `synced`. */
  readonly events: string[]
  readonly failures: WatchFailure['cause'][]
  names(): string[]
}

/** Watches our ConfigMaps of a namespace until the test ends, and notes what is told. */
export const watchConfigMaps = (
  transport: Transport,
  namespace: string,
  options: Partial<ReflectorOptions<ConfigMap>> = {},
): Watched => {
  const stop = new AbortController()
  const events: string[] = []
  const failures: WatchFailure['cause'][] = []
  const reflector = reflect(transport, CONFIG_MAPS, {
    namespace,
    labelSelector: OURS,
    clock: systemClock,
    log: silent,
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'synced') events.push('synced')
      else events.push([event.type, event.object.metadata.name, event.object.data?.v ?? ''].join(' ').trim())
    },
    onHealth: (failure) => {
      if (failure !== undefined) failures.push(failure.cause)
    },
    ...options,
  })
  onTestFinished(async () => {
    stop.abort()
    await reflector.stopped
  })
  const names = () => [...reflector.store.values()].map(({ metadata }) => metadata.name).toSorted()
  return { reflector, events, failures, names }
}
