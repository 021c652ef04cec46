import Type from 'typebox'
import { Generation, ObjectReference, Time } from './values.ts'

export const EventDraft = Type.Object(
  {
    resourceType: Type.String({ minLength: 1, maxLength: 100, examples: ['clusters'] }),
    resourceId: Type.String({ minLength: 1, maxLength: 100 }),
    reason: Type.String({ minLength: 1, maxLength: 256 }),
    source: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'The client that asks; names the shard.' }),
    ),
    nextTime: Type.Optional(
      Type.String({
        maxLength: 40,
        description: 'RFC 3339; when the client means to ask again unless something changes. For GET …/explain.',
      }),
    ),
  },
  { $id: 'EventDraft' },
)

export const Event = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Type.String(),
    type: Type.String(),
    source: Type.String(),
    subject: Type.String(),
    time: Time,
    datacontenttype: Type.Literal('application/json'),
    traceparent: Type.Optional(Type.String()),
    replay: Type.Optional(Type.Integer({ description: 'How often it was replayed from the dead letters.' })),
    data: Type.Object({
      id: Type.String(),
      kind: Type.String(),
      href: Type.String(),
      generation: Generation,
      reason: Type.String(),
      owner_references: Type.Optional(ObjectReference),
    }),
  },
  { $id: 'Event', description: 'CloudEvents 1.0' },
)

export const ConsumerSettings = Type.Object(
  {
    resourceType: Type.String({ minLength: 1, maxLength: 100, examples: ['clusters'] }),
    labels: Type.Optional(Type.String({ maxLength: 4096, description: 'Kubernetes label selector; all when absent.' })),
    maxDeliveries: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default 10.' })),
  },
  { $id: 'ConsumerSettings', additionalProperties: false },
)

export const Consumer = Type.Object(
  {
    name: Type.String(),
    resourceType: Type.String(),
    labels: Type.String(),
    maxDeliveries: Type.Integer(),
  },
  { $id: 'Consumer', description: 'A consumer group.' },
)

const Duration = Type.String({
  pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$',
  maxLength: 20,
  description: 'A number with its unit: ms, s, m or h.',
  examples: ['30s'],
})

export const ClaimSettings = Type.Object(
  {
    max: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 1.' })),
    wait: Type.Optional(Duration),
    visibility: Type.Optional(Duration),
  },
  { $id: 'ClaimSettings', additionalProperties: false },
)

export const ReceiptPatch = Type.Object(
  {
    visibility: Duration,
    unprocessed: Type.Optional(
      Type.Boolean({
        description:
          'With a visibility of 0s: it was not worked on to the end, and the delivery does not count towards maxDeliveries.',
      }),
    ),
  },
  { $id: 'ReceiptPatch', additionalProperties: false },
)

export const Claim = Type.Object(
  { receipt: Type.String(), deliveries: Type.Integer({ minimum: 1 }), event: Type.Ref('Event') },
  { $id: 'Claim' },
)

export const DeadLetter = Type.Object(
  { id: Type.String(), deliveries: Type.Integer(), dead_time: Time, event: Type.Ref('Event') },
  { $id: 'DeadLetter' },
)
