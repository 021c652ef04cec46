import Type, { type Static } from 'typebox'
import { parseDuration } from '#operator/model/duration.ts'
import { formatSelector } from '#operator/model/selector.ts'
import { parseReceipt } from '../../events/deliveries.ts'
import { publishEvent } from '../../events/publish.ts'
import type { ReceiveRequest } from '../../events/queue.ts'
import { parseTimestamp } from '../../model/timestamp.ts'
import { recheckDeletions } from '../../mutations/recheck-deletions.ts'
import { Problem } from '../../problems/problem.ts'
import { readSelector } from '../list-parameters.ts'
import { type Operation, operation } from '../operation.ts'
import { ClaimSettings, ConsumerSettings, EventDraft, ReceiptPatch } from '../schemas/event.ts'
import type { Service } from '../service.ts'

const TAG = 'Events'
const CONSUMER = '/events/consumers/{name}'
const Name = Type.Object({
  name: Type.String({
    pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
    description: 'At most 63 lower case letters, digits and inner hyphens.',
    examples: ['dns'],
  }),
})
const Receipt = Type.Object({ ...Name.properties, receipt: Type.String({ maxLength: 100 }) })
const DeadEvent = Type.Object({ ...Name.properties, id: Type.String({ maxLength: 200 }) })

const actsForGroup = ({ parameters: { name } }: { readonly parameters: Static<typeof Name> }) =>
  ({ kind: 'consumer', name }) as const

const MAX_SOURCE_CHARS = 256
/** What `source` says when the caller names itself neither in the body nor in User-Agent; the Go service's. */
const DEFAULT_SOURCE = 'hyperfleet-sentinel'
const DEFAULT_MAX_DELIVERIES = 10
const MAX_WAIT_MS = 60_000
const MAX_VISIBILITY_MS = 12 * 3_600_000
const MAX_LISTED_DEAD_LETTERS = 100

/** Posting events, and getting them delivered to consumer groups. */
export const eventOperations = (service: Service): Operation[] => [
  operation({
    method: 'POST',
    path: '/events',
    id: 'createEvent',
    summary: 'Asks for the reconciliation of a resource',
    tag: TAG,
    role: 'adapter',
    body: EventDraft,
    responses: {
      201: { description: 'The new event', schema: Type.Ref('Event') },
      200: {
        description: 'The event that says the same and that no consumer has taken yet',
        schema: Type.Ref('Event'),
      },
      404: { description: 'No such resource' },
    },
    handle: async ({ body, headers, time }) => {
      const entity = service.entities.byPlural(body.resourceType)
      if (entity === undefined)
        throw new Problem('notFound', `resourceType '${body.resourceType}' not found, ${listPlurals(service)}`)
      const { reason, resourceId: id } = body
      const source = body.source ?? formatSource(headers['user-agent'])
      const { event, isNew } = await service.tracer.span(
        { name: `publish ${entity.plural}`, kind: 'producer', attributes: { 'messaging.operation.type': 'send' } },
        (span) => {
          const traceparent = span.traceparent ?? headers.traceparent
          const nextTime = body.nextTime === undefined ? undefined : parseTimestamp(body.nextTime)
          if (body.nextTime !== undefined && nextTime === undefined)
            throw new Problem('invalid', 'nextTime must be an RFC 3339 time such as 2026-01-31T12:00:00Z', [
              { field: 'nextTime', message: 'must be an RFC 3339 time' },
            ])
          const request = {
            reason,
            source,
            time,
            ...(nextTime !== undefined && { nextTime }),
            ...(typeof traceparent === 'string' && { traceparent }),
          }
          return publishEvent(service, { entity, id }, request)
        },
      )
      return { status: isNew ? 201 : 200, body: event }
    },
  }),
  operation({
    method: 'PUT',
    path: CONSUMER,
    id: 'putConsumer',
    summary: 'Makes or changes a consumer group',
    tag: TAG,
    role: 'adapter',
    actsFor: actsForGroup,
    parameters: Name,
    body: ConsumerSettings,
    responses: {
      201: { description: 'Made; it gets what is posted from now on', schema: Type.Ref('Consumer') },
      200: { description: 'It was there, and is now as given', schema: Type.Ref('Consumer') },
    },
    handle: async ({ parameters: { name }, body, time }) => {
      const entity = service.entities.byPlural(body.resourceType)
      if (entity === undefined)
        throw new Problem('invalid', `resourceType '${body.resourceType}' is not served, ${listPlurals(service)}`, [
          { field: 'resourceType', message: listPlurals(service) },
        ])
      const selector = formatSelector(readSelector(body.labels))
      const maxDeliveries = body.maxDeliveries ?? DEFAULT_MAX_DELIVERIES
      const isNew = await service.queue.putConsumer({ name, kind: entity.kind, selector, maxDeliveries }, time)
      return { status: isNew ? 201 : 200, body: { name, resourceType: entity.plural, labels: selector, maxDeliveries } }
    },
  }),
  operation({
    method: 'DELETE',
    path: CONSUMER,
    id: 'deleteConsumer',
    summary: 'Forgets a consumer group and what it has not taken',
    tag: TAG,
    role: 'adapter',
    actsFor: actsForGroup,
    parameters: Name,
    responses: { 204: { description: 'Gone' } },
    handle: async ({ parameters: { name } }) => {
      await service.queue.deleteConsumer(name)
      await recheckDeletions(service, { group: name })
      return { status: 204 }
    },
  }),
  operation({
    method: 'POST',
    path: `${CONSUMER}/claims`,
    id: 'claimEvents',
    summary: 'Takes events, waiting for some when there are none',
    tag: TAG,
    role: 'adapter',
    lasts: true,
    actsFor: actsForGroup,
    parameters: Name,
    body: ClaimSettings,
    responses: {
      200: {
        description: 'What was claimed; empty when nothing came',
        schema: Type.Object({ items: Type.Array(Type.Ref('Claim')) }),
      },
      503: { description: 'The database, or NATS, does not answer' },
    },
    handle: async ({ parameters: { name }, body, signal }) => {
      const claims = await service.queue.receive(readReceiveRequest(name, body), signal)
      if (!signal.aborted) return { status: 200, body: { items: claims } }
      // No worker is there to work on them.
      for (const { receipt } of claims) await service.queue.release(name, receipt)
      return { status: 200, body: { items: [] } }
    },
  }),
  operation({
    method: 'DELETE',
    path: `${CONSUMER}/claims/{receipt}`,
    id: 'acknowledgeEvent',
    summary: 'Acknowledges a claimed event',
    tag: TAG,
    role: 'adapter',
    actsFor: actsForGroup,
    parameters: Receipt,
    responses: { 204: { description: 'Done' }, 409: { description: 'The visibility has ended' } },
    handle: async ({ parameters: { name, receipt } }) => {
      await service.queue.acknowledge(name, receipt)
      await recheckDeletions(service, { event: parseReceipt(receipt).sequence })
      return { status: 204 }
    },
  }),
  operation({
    method: 'PATCH',
    path: `${CONSUMER}/claims/{receipt}`,
    id: 'extendClaim',
    summary: 'Keeps a claimed event hidden for longer, or gives it back with 0s',
    tag: TAG,
    role: 'adapter',
    actsFor: actsForGroup,
    parameters: Receipt,
    body: ReceiptPatch,
    responses: { 204: { description: 'Done' }, 409: { description: 'The visibility has ended' } },
    handle: async ({ parameters: { name, receipt }, body }) => {
      const visibility = readDuration('visibility', body.visibility, MAX_VISIBILITY_MS)
      if (body.unprocessed !== true) await service.queue.extend(name, receipt, visibility)
      else if (visibility === 0) await service.queue.release(name, receipt)
      else {
        const message = 'goes with a visibility of 0s: what is kept hidden is still worked on'
        throw new Problem('invalid', `unprocessed ${message}`, [{ field: 'unprocessed', message }])
      }
      return { status: 204 }
    },
  }),
  operation({
    method: 'POST',
    path: `${CONSUMER}/claims/{receipt}/dead-letter`,
    id: 'giveUpEvent',
    summary: 'Gives a claimed event up: it is a dead letter at once',
    tag: TAG,
    role: 'adapter',
    actsFor: actsForGroup,
    parameters: Receipt,
    responses: { 204: { description: 'It is a dead letter' }, 409: { description: 'The visibility has ended' } },
    handle: async ({ parameters: { name, receipt } }) => {
      await service.queue.reject(name, receipt)
      await recheckDeletions(service, { event: parseReceipt(receipt).sequence })
      return { status: 204 }
    },
  }),
  operation({
    method: 'GET',
    path: `${CONSUMER}/dead-letters`,
    id: 'listDeadLetters',
    summary: 'Lists the oldest events that were delivered too often, or given up',
    tag: TAG,
    role: 'adapter',
    actsFor: actsForGroup,
    parameters: Name,
    responses: {
      200: { description: 'At most 100', schema: Type.Object({ items: Type.Array(Type.Ref('DeadLetter')) }) },
    },
    handle: async ({ parameters: { name } }) => ({
      status: 200,
      body: { items: await service.queue.deadLetters(name, MAX_LISTED_DEAD_LETTERS) },
    }),
  }),
  operation({
    method: 'POST',
    path: `${CONSUMER}/dead-letters/{id}/replay`,
    id: 'replayDeadLetter',
    summary: 'Delivers a dead letter again',
    tag: TAG,
    role: 'adapter',
    actsFor: actsForGroup,
    parameters: DeadEvent,
    responses: { 204: { description: 'It waits to be claimed' } },
    handle: async ({ parameters: { name, id } }) => {
      await service.queue.replay(name, id)
      return { status: 204 }
    },
  }),
]

/** CloudEvents' source is a URI reference; a product and its comment have characters that one can't have. */
const formatSource = (userAgent: string | undefined): string =>
  userAgent === undefined ? DEFAULT_SOURCE : encodeURI(userAgent.slice(0, MAX_SOURCE_CHARS).toWellFormed())

const readReceiveRequest = (
  consumer: string,
  { max = 1, wait = '0s', visibility = '30s' }: Static<typeof ClaimSettings>,
): ReceiveRequest => {
  const hidden = readDuration('visibility', visibility, MAX_VISIBILITY_MS)
  if (hidden === 0)
    throw new Problem('invalid', 'visibility must be above 0s', [{ field: 'visibility', message: 'must be above 0s' }])
  return { consumer, max, visibility: hidden, wait: readDuration('wait', wait, MAX_WAIT_MS) }
}

/** Milliseconds of a duration that has a longest. @throws Problem invalid */
const readDuration = (field: string, text: string, longest: number): number => {
  const milliseconds = parseDuration(text)
  if (milliseconds <= longest) return milliseconds
  throw new Problem('invalid', `${field} must be at most ${longest / 1000}s`, [
    { field, message: `must be at most ${longest / 1000}s` },
  ])
}

const listPlurals = ({ entities }: Service): string =>
  `write one of ${entities.all.map(({ plural }) => plural).join(', ')}`
