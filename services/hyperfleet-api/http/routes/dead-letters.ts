import Type from 'typebox'
import { type Operation, operation } from '../operation.ts'
import type { Service } from '../service.ts'
import { GROUP } from './consumer-group.ts'

const MAX_LISTED_DEAD_LETTERS = 100

const DEAD_LETTER = Type.Object({ ...GROUP.parameters.properties, id: Type.String({ maxLength: 200 }) })

/** The events that a consumer group was delivered too often, or has given up. */
export const deadLetterOperations = (service: Service): Operation[] => [
  operation({
    method: 'GET',
    ...GROUP,
    path: `${GROUP.path}/dead-letters`,
    id: 'listDeadLetters',
    summary: 'Lists the oldest events that were delivered too often, or given up',
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
    ...GROUP,
    path: `${GROUP.path}/dead-letters/{id}/replay`,
    id: 'replayDeadLetter',
    summary: 'Delivers a dead letter again',
    parameters: DEAD_LETTER,
    responses: { 204: { description: 'It waits to be claimed' } },
    handle: async ({ parameters: { name, id } }) => {
      await service.queue.replay(name, id)
      return { status: 204 }
    },
  }),
]
