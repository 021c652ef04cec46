/** Connects a task to the HyperFleet API and to its events, as its spec says. */

import { consumerGroup, legacyConsumerGroup } from '#apis/hyperfleet.redhat.com/consumer-group.ts'
import type { AdapterTask, AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Transport } from '#operator/client/transport.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { toMilliseconds } from '#operator/model/duration.ts'
import { formatSelector, selectorOf } from '#operator/model/selector.ts'
import type { Access } from '../access.ts'
import { apiQueueSource } from '../events/api-queue.ts'
import type { EventSource, SourceOptions } from '../events/source.ts'
import type { ApiTime } from '../http/api-time.ts'
import { type BearerToken, fileToken } from '../http/bearer-token.ts'
import { HttpClient, type HttpClientOptions } from '../http/client.ts'
import { type HttpConnection, openHttpConnection, type RoundTrip } from '../http/connection.ts'
import { InventoryStore } from '../inventory/inventory-store.ts'

export interface ApiConnection {
  /** To be closed. */
  readonly connection: HttpConnection
  /** With the token that this API may have. */
  readonly caller: HttpClient
  /** Of one request, in milliseconds. */
  readonly timeoutMs: number
}

export interface ApiConnectionOptions {
  readonly access: Access
  /** Of the task's ServiceAccount. */
  readonly accountToken: BearerToken | undefined
  readonly userAgent: string
  readonly clock: Clock
  /** Told what time the API says it is. */
  readonly time?: ApiTime
  /** Told how each request ended. */
  readonly onOutcome?: HttpClientOptions['onOutcome']
}

export const connectApi = (
  { hyperfleetAPI: { url: named, timeout, tokenPath } }: AdapterTaskSpec,
  { access, accountToken, userAgent, clock, time, onOutcome }: ApiConnectionOptions,
): ApiConnection => {
  const timeoutMs = toMilliseconds(timeout ?? '10s')
  const { url, refusal, token: allowed, lookup, caFile } = access.api(named, tokenPath)
  const token = allowed === 'account' ? accountToken : allowed && fileToken(allowed.file)
  const connection = openHttpConnection({ base: url, userAgent, lookup, caFile })
  // A task that is not valid is left by the API that it names, too.
  const roundTrip: RoundTrip = async (...request) => {
    if (refusal !== undefined) throw new Error(refusal)
    const sentAt = monotonic(clock)
    const answer = await connection.roundTrip(...request)
    time?.record(answer.headers.date, sentAt)
    return answer
  }
  return { connection, caller: new HttpClient({ roundTrip, clock, timeoutMs, token, onOutcome }), timeoutMs }
}

/** Nothing is requested before it is opened. @param caller of the HyperFleet API */
export const createEventSource = async (
  { metadata: { name, namespace = 'default' }, spec }: AdapterTask,
  caller: HttpClient,
  { natsAllowlist }: Access,
  onDeadLetter: SourceOptions['onDeadLetter'],
): Promise<EventSource> => {
  const { transport, url, consumer = consumerGroup(namespace, name), visibility } = spec.events
  const { resourceType } = spec
  const common = { consumer, resourceType, visibilityMs: toMilliseconds(visibility), onDeadLetter }
  if (transport !== 'nats' || url === undefined)
    return apiQueueSource({ ...common, caller, selector: formatSelector(selectorOf(spec.selector ?? {})) })
  const { jetStreamSource } = await import('../events/jetstream.ts')
  const legacyConsumer = spec.events.consumer === undefined ? legacyConsumerGroup(namespace, name) : undefined
  const refusal = natsAllowlist.refusal(url)
  const files = natsAllowlist.files
  return jetStreamSource({
    ...common,
    url,
    files,
    refusal,
    legacyConsumer,
    name: `muster-adapter ${namespace}/${name}`,
  })
}

/** @param transport as the manager itself: nothing in a task's name may write inventories */
export const inventoriesOf = (
  { metadata: { name, namespace = 'default' }, spec }: AdapterTask,
  transport: Transport,
  clock: Clock,
): InventoryStore =>
  new InventoryStore({
    transport,
    namespace,
    task: name,
    adapter: spec.adapter.name,
    serviceAccountName: spec.serviceAccountName,
    keepsEmpty: selectorOf(spec.selector ?? {}).length > 0,
    clock,
  })
