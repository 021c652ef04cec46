import Type from 'typebox'
import { formatSelector } from '#operator/model/selector.ts'
import { recheckDeletions } from '../../mutations/recheck-deletions.ts'
import { Problem } from '../../problems/problem.ts'
import { readSelector } from '../list-parameters.ts'
import { type Operation, operation } from '../operation.ts'
import { ConsumerSettings } from '../schemas/event.ts'
import type { Service } from '../service.ts'
import { GROUP } from './consumer-group.ts'
import { listPlurals } from './list-plurals.ts'

const DEFAULT_MAX_DELIVERIES = 10

/** The consumer groups that events are delivered to. */
export const consumerOperations = (service: Service): Operation[] => [
  operation({
    method: 'PUT',
    ...GROUP,
    id: 'putConsumer',
    summary: 'Makes or changes a consumer group',
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
    ...GROUP,
    id: 'deleteConsumer',
    summary: 'Forgets a consumer group and what it has not taken',
    responses: { 204: { description: 'Gone' } },
    handle: async ({ parameters: { name } }) => {
      await service.queue.deleteConsumer(name)
      await recheckDeletions(service, { group: name })
      return { status: 204 }
    },
  }),
]
