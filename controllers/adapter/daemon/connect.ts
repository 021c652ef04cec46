/** Connects a task to the HyperFleet API and to its events, as its spec says. */
import type { AdapterTask, AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import { toMilliseconds } from '#operator/model/duration.ts'
import { formatSelector, selectorOf } from '#operator/model/selector.ts'
import { apiQueueSource } from '../events/api-queue.ts'
import { consumerGroup, legacyConsumerGroup } from '../events/consumer-group.ts'
import type { EventSource, SourceOptions } from '../events/source.ts'
import { HttpClient } from '../http/client.ts'
import { type HttpConnection, openHttpConnection } from '../http/connection.ts'
import { InventoryStore } from '../inventory/inventory-store.ts'

export interface ApiConnection {
  /** To be closed. */
  readonly connection: HttpConnection
  /** With the task's token. */
  readonly caller: HttpClient
  /** Of one request, in milliseconds. */
  readonly timeoutMs: number
}

export const connectApi = (
  { hyperfleetAPI: { url, timeout, tokenPath } }: AdapterTaskSpec,
  userAgent: string,
  clock: Clock,
): ApiConnection => {
  const timeoutMs = toMilliseconds(timeout ?? '10s')
  const connection = openHttpConnection({ base: url, userAgent })
  return {
    connection,
    caller: new HttpClient({ roundTrip: connection.roundTrip, clock, timeoutMs, tokenFile: tokenPath }),
    timeoutMs,
  }
}

/** Nothing is requested before it is opened. @param caller of the HyperFleet API */
export const createEventSource = async (
  { metadata: { name, namespace = 'default' }, spec }: AdapterTask,
  caller: HttpClient,
  onDeadLetter: SourceOptions['onDeadLetter'],
): Promise<EventSource> => {
  const { transport, url, consumer = consumerGroup(namespace, name), visibility } = spec.events
  const { resourceType } = spec
  const common = { consumer, resourceType, visibilityMs: toMilliseconds(visibility), onDeadLetter }
  if (transport !== 'nats' || url === undefined)
    return apiQueueSource({ ...common, caller, selector: formatSelector(selectorOf(spec.selector ?? {})) })
  const { jetStreamSource } = await import('../events/jetstream.ts')
  const legacyConsumer = spec.events.consumer === undefined ? legacyConsumerGroup(namespace, name) : undefined
  return jetStreamSource({ ...common, url, legacyConsumer, name: `muster-adapter ${namespace}/${name}` })
}

/** @param transport as the manager itself: nothing in a task's name may write inventories */
export const inventoriesOf = (
  { metadata: { name, namespace = 'default' }, spec }: AdapterTask,
  transport: Transport,
): InventoryStore =>
  new InventoryStore({
    transport,
    namespace,
    task: name,
    adapter: spec.adapter.name,
    serviceAccountName: spec.serviceAccountName,
    keepsEmpty: selectorOf(spec.selector ?? {}).length > 0,
  })
