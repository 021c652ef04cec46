import Type from 'typebox'
import { publishEvent } from '../../events/publish.ts'
import { parseTimestamp } from '../../model/timestamp.ts'
import { Problem } from '../../problems/problem.ts'
import { type Operation, operation } from '../operation.ts'
import { EventDraft } from '../schemas/event.ts'
import type { Service } from '../service.ts'
import { listPlurals } from './list-plurals.ts'

const MAX_SOURCE_CHARS = 256
/** What `source` says when the caller names itself neither in the body nor in User-Agent; the Go service's. */
const DEFAULT_SOURCE = 'hyperfleet-sentinel'

/** Posting events. */
export const eventOperations = (service: Service): Operation[] => [
  operation({
    method: 'POST',
    path: '/events',
    id: 'createEvent',
    summary: 'Asks for the reconciliation of a resource',
    tag: 'Events',
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
]

/** CloudEvents' source is a URI reference; a product and its comment have characters that one can't have. */
const formatSource = (userAgent: string | undefined): string =>
  userAgent === undefined ? DEFAULT_SOURCE : encodeURI(userAgent.slice(0, MAX_SOURCE_CHARS).toWellFormed())
