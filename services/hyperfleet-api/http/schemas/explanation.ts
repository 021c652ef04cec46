import Type from 'typebox'
import { Generation, Open, Time } from './values.ts'

const Child = Type.Object({
  id: Type.String({ format: 'uuid' }),
  kind: Type.String(),
  name: Type.String(),
  href: Type.String(),
  phase: Type.Enum(['Ready', 'NotReady', 'Deleting']),
})

export const Explanation = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    kind: Type.String(),
    name: Type.String(),
    href: Type.String(),
    generation: Generation,
    phase: Type.Enum(['Ready', 'NotReady', 'Deleting']),
    deleted_time: Type.Optional(Time),
    waits_for: Type.Array(Type.String(), {
      description: 'What readiness, or in deletion the removal, waits for, a sentence each; empty when for nothing.',
    }),
    adapters: Type.Array(
      Type.Object({
        adapter: Type.String(),
        required: Type.Boolean({ description: 'Named by the configuration for every resource of the kind.' }),
        awaited: Type.Boolean(),
        state: Type.Enum(['Missing', 'Outdated', 'Working', 'Failing', 'Agreeing', 'Released', 'Awaited', 'CleanedUp']),
        why: Type.String(),
        status: Type.Optional(Type.Ref('AdapterStatus')),
      }),
      { description: 'Every adapter that is required or has reported, with its last report.' },
    ),
    discarded: Type.Array(Type.Ref('LoggedReport'), {
      description: 'The newest reports that were not aggregated, and why; all of them: GET …/statuses/history.',
    }),
    remaining: Type.Array(
      Type.Object({
        adapter: Type.String(),
        observed_time: Time,
        message: Type.Optional(Type.String({ description: 'Of Applied, when the adapter lists no objects.' })),
        object: Type.Optional(Open),
      }),
      {
        description:
          'In deletion, what is left as last reported: the objects of `data.remaining`, with their finalizers, or the message of Applied.',
      },
    ),
    children: Type.Array(Child, { description: 'At most 100, those in deletion included.' }),
    groups: Type.Array(Type.String(), {
      description: 'In deletion: consumer groups that have not finished with an event from before it.',
    }),
    pulses: Type.Object({
      last: Type.Optional(Type.Object({ time: Time, reason: Type.String(), source: Type.String() })),
      next: Type.Optional(
        Type.Object(
          { time: Time },
          {
            description:
              'When the Sentinel means to send the next one unless something changes; absent when it did not say.',
          },
        ),
      ),
    }),
    queue: Type.Array(
      Type.Object({
        group: Type.String(),
        event: Type.String(),
        reason: Type.String(),
        generation: Generation,
        time: Time,
        deliveries: Type.Integer(),
        state: Type.Enum(['Waiting', 'Taken', 'Dead']),
        position: Type.Optional(Type.Integer({ description: 'Among what waits for the group, from 1.' })),
      }),
      { description: 'Events about the resource that are not acknowledged; the oldest 20.' },
    ),
  },
  { $id: 'Explanation', description: 'Why a resource is as it is, and what it waits for.' },
)

const Blocker = Type.Object({
  kind: Type.String(),
  id: Type.String(),
  name: Type.String(),
  href: Type.String(),
  why: Type.Enum(['Restricted', 'Referenced']),
})

export const DeletionPreview = Type.Object(
  {
    dry_run: Type.Literal(true),
    blocked: Type.Boolean({ description: 'Whether DELETE would be 409.' }),
    resources: Type.Array(
      Type.Object({
        id: Type.String({ format: 'uuid' }),
        kind: Type.String(),
        name: Type.String(),
        href: Type.String(),
        depth: Type.Integer({ description: '0 is the resource itself, 1 its children.' }),
        deleting: Type.Boolean({ description: 'It is in deletion already.' }),
        awaited: Type.Array(Type.String(), { description: 'Adapters that must report their clean-up.' }),
        awaited_groups: Type.Array(Type.String(), {
          description: 'Consumer groups that have not finished with an event.',
        }),
        blocked_by: Type.Array(Blocker, { description: 'What makes DELETE 409.' }),
      }),
      { description: 'What DELETE would mark, each before what is below it.' },
    ),
  },
  { $id: 'DeletionPreview', description: 'What DELETE would do; nothing is changed.' },
)

export const DeleteQuery = Type.Object({
  dry_run: Type.Optional(
    Type.Boolean({ description: 'Only say what would be deleted, what is awaited and what blocks it.' }),
  ),
})
