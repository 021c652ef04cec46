import Type from 'typebox'
import { Generation, Labels, ObjectReference, Open, Time } from './values.ts'

export const Condition = Type.Object(
  {
    type: Type.String(),
    status: Type.Enum(['True', 'False']),
    reason: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
    observed_generation: Generation,
    created_time: Time,
    last_updated_time: Time,
    last_transition_time: Time,
  },
  { $id: 'Condition', description: 'Key conditions by type: their order means nothing.' },
)

export const Resource = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    kind: Type.String(),
    name: Type.String(),
    href: Type.String(),
    labels: Type.Optional(Labels),
    spec: Open,
    owner_references: Type.Optional(ObjectReference),
    references: Type.Optional(Type.Record(Type.String(), Type.Array(ObjectReference))),
    generation: Generation,
    created_time: Time,
    updated_time: Time,
    deleted_time: Type.Optional(Time),
    deleted_at: Type.Optional({ ...Time, description: 'The same as deleted_time.' }),
    created_by: Type.String(),
    updated_by: Type.String(),
    deleted_by: Type.Optional(Type.String()),
    tenancy: Labels,
    status: Type.Object({
      phase: Type.Enum(['Ready', 'NotReady', 'Deleting']),
      lastTransitionTime: Type.Optional(Time),
      conditions: Type.Array(Type.Ref('Condition')),
      awaited: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'Only in deletion: adapters that have not cleaned up; when empty, groups or children are awaited.',
        }),
      ),
      awaited_groups: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'Only in deletion: consumer groups that took an event before it and have not finished; absent when there are none.',
        }),
      ),
    }),
  },
  { $id: 'Resource' },
)

const ReferenceDraft = Type.Union(
  [
    Type.Record(
      Type.String(),
      Type.Array(
        Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }), kind: Type.Optional(Type.String()) }),
        { maxItems: 1000 },
      ),
    ),
    Type.Null(),
  ],
  { description: 'The resources that this one names, by type of reference; all of them: {} names none.' },
)

/** Fields that are not listed are ignored, as the Go service does: clients send whole resources back. */
export const ResourceDraft = Type.Object(
  {
    kind: Type.Optional(Type.String()),
    name: Type.String(),
    labels: Type.Optional(Type.Union([Labels, Type.Null()])),
    spec: Open,
    references: Type.Optional(ReferenceDraft),
  },
  { $id: 'ResourceDraft' },
)

export const AnyResourceDraft = Type.Object(
  { ...ResourceDraft.properties, kind: Type.String() },
  { $id: 'AnyResourceDraft', description: 'A resource of the kind that it names.' },
)

export const ResourcePatch = Type.Object(
  {
    spec: Type.Optional(Open),
    labels: Type.Optional(Type.Union([Labels, Type.Null()])),
    references: Type.Optional(ReferenceDraft),
  },
  { $id: 'ResourcePatch', additionalProperties: false, description: 'What is given replaces what is there.' },
)
