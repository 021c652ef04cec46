import Type, { type Static } from 'typebox'
import { parseDuration } from '#operator/model/duration.ts'
import { parseReceipt } from '../../events/deliveries.ts'
import type { ReceiveRequest } from '../../events/queue.ts'
import { recheckDeletions } from '../../mutations/recheck-deletions.ts'
import { invalidField } from '../../problems/problem.ts'
import { type Operation, operation } from '../operation.ts'
import { ClaimSettings, ReceiptPatch } from '../schemas/event.ts'
import type { Service } from '../service.ts'
import { GROUP } from './consumer-group.ts'

const MAX_WAIT_MS = 60_000
const MAX_VISIBILITY_MS = 12 * 3_600_000

const CLAIM = {
  ...GROUP,
  path: `${GROUP.path}/claims/{receipt}`,
  parameters: Type.Object({ ...GROUP.parameters.properties, receipt: Type.String({ maxLength: 100 }) }),
} as const

/** Taking events for a consumer group, and what becomes of each that was taken. */
export const claimOperations = (service: Service): Operation[] => [
  operation({
    method: 'POST',
    ...GROUP,
    path: `${GROUP.path}/claims`,
    id: 'claimEvents',
    summary: 'Takes events, waiting for some when there are none',
    lasts: true,
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
    ...CLAIM,
    id: 'acknowledgeEvent',
    summary: 'Acknowledges a claimed event',
    responses: { 204: { description: 'Done' }, 409: { description: 'The visibility has ended' } },
    handle: async ({ parameters: { name, receipt } }) => {
      await service.queue.acknowledge(name, receipt)
      await recheckDeletions(service, { event: parseReceipt(receipt).sequence })
      return { status: 204 }
    },
  }),
  operation({
    method: 'PATCH',
    ...CLAIM,
    id: 'extendClaim',
    summary: 'Keeps a claimed event hidden for longer, or gives it back with 0s',
    body: ReceiptPatch,
    responses: { 204: { description: 'Done' }, 409: { description: 'The visibility has ended' } },
    handle: async ({ parameters: { name, receipt }, body }) => {
      const visibility = readDuration('visibility', body.visibility, MAX_VISIBILITY_MS)
      if (body.unprocessed !== true) await service.queue.extend(name, receipt, visibility)
      else if (visibility === 0) await service.queue.release(name, receipt)
      else throw invalidField('unprocessed', 'goes with a visibility of 0s: what is kept hidden is still worked on')
      return { status: 204 }
    },
  }),
  operation({
    method: 'POST',
    ...CLAIM,
    path: `${CLAIM.path}/dead-letter`,
    id: 'giveUpEvent',
    summary: 'Gives a claimed event up: it is a dead letter at once',
    responses: { 204: { description: 'It is a dead letter' }, 409: { description: 'The visibility has ended' } },
    handle: async ({ parameters: { name, receipt } }) => {
      await service.queue.reject(name, receipt)
      await recheckDeletions(service, { event: parseReceipt(receipt).sequence })
      return { status: 204 }
    },
  }),
]

const readReceiveRequest = (
  consumer: string,
  { max = 1, wait = '0s', visibility = '30s' }: Static<typeof ClaimSettings>,
): ReceiveRequest => {
  const hidden = readDuration('visibility', visibility, MAX_VISIBILITY_MS)
  if (hidden === 0) throw invalidField('visibility', 'must be above 0s')
  return { consumer, max, visibility: hidden, wait: readDuration('wait', wait, MAX_WAIT_MS) }
}

/** Milliseconds of a duration that has a longest. @throws Problem invalid */
const readDuration = (field: string, text: string, longest: number): number => {
  const milliseconds = parseDuration(text)
  if (milliseconds <= longest) return milliseconds
  throw invalidField(field, `must be at most ${longest / 1000}s`)
}
