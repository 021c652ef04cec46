/** How a task reaches the HyperFleet API and its events, as its spec says. */
import type { AdapterTask, AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Clock } from '#operator/model/clock.ts'
import { toMilliseconds } from '#operator/model/duration.ts'
import { formatSelector, selectorOf } from '#operator/model/selector.ts'
import { queueSource } from '../events/api-queue.ts'
import { formerGroupOf, groupOf } from '../events/consumer-group.ts'
import type { EventSource, SourceOptions } from '../events/source.ts'
import { Caller } from '../http/client.ts'
import { type OpenExchange, openExchange } from '../http/connection.ts'

export interface ApiReach {
  /** To be closed. */
  readonly own: OpenExchange
  /** With the task's token. */
  readonly caller: Caller
  /** Of one request, in milliseconds. */
  readonly limit: number
}

export const reachApi = (
  { hyperfleetAPI: { url, timeout, tokenPath } }: AdapterTaskSpec,
  userAgent: string,
  clock: Clock,
): ApiReach => {
  const limit = toMilliseconds(timeout ?? '10s')
  const own = openExchange({ base: url, userAgent })
  return { own, caller: new Caller({ exchange: own.exchange, clock, timeout: limit, tokenFile: tokenPath }), limit }
}

/** Nothing is asked before it is opened. @param caller of the HyperFleet API */
export const sourceOf = async (
  { metadata: { name, namespace = 'default' }, spec }: AdapterTask,
  caller: Caller,
  onDeadLetter: SourceOptions['onDeadLetter'],
): Promise<EventSource> => {
  const { transport, url, consumer = groupOf(namespace, name), visibility } = spec.events
  const { resourceType } = spec
  const common = { consumer, resourceType, visibility: toMilliseconds(visibility), onDeadLetter }
  if (transport !== 'nats' || url === undefined)
    return queueSource({ ...common, caller, selector: formatSelector(selectorOf(spec.selector ?? {})) })
  const { jetStreamSource } = await import('../events/jetstream.ts')
  const former = spec.events.consumer === undefined ? formerGroupOf(namespace, name) : undefined
  return jetStreamSource({ ...common, url, former, name: `muster-adapter ${namespace}/${name}` })
}
