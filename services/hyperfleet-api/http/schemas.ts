import Type, { type TSchema } from 'typebox'
import type { JsonObject } from '../model/resource.ts'

/** Shapes that go over the wire; the OpenAPI document names them. Seed and peer give the fields. */

const Time = Type.String({ format: 'date-time', examples: ['2026-01-31T12:00:00.000000Z'] })
const Generation = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })
const Labels = Type.Record(Type.String(), Type.String(), {
  description: 'Kubernetes label rules hold for keys and values.',
})
const Open = Type.Unsafe<JsonObject>({ type: 'object' })

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

const ObjectReference = Type.Object({ id: Type.String(), kind: Type.String(), href: Type.String() })

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
          description: 'Only in deletion: adapters that have not cleaned up; when empty, children are awaited.',
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

/** Fields that are not listed are ignored, as the peer does: clients send whole resources back. */
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

/** A field that may be left out. Some clients send null for what they leave out. */
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))

const ReportedCondition = Type.Object({
  type: Type.String({ minLength: 1, maxLength: 255 }),
  status: Type.Enum(['True', 'False', 'Unknown']),
  reason: orNull(Type.String()),
  message: orNull(Type.String()),
})

/** An adapter's name. */
export const Adapter = Type.String({ minLength: 1, maxLength: 255 })

/** Other keys are dropped, as the peer does. */
export const ReportMetadata = Type.Object({
  job_name: orNull(Type.String()),
  job_namespace: orNull(Type.String()),
  attempt: orNull(Type.Integer()),
  started_time: orNull(Type.String()),
  completed_time: orNull(Type.String()),
  duration: orNull(Type.String()),
})

export const AdapterReport = Type.Object(
  {
    adapter: Adapter,
    observed_generation: Generation,
    observed_time: orNull(Type.String({ description: 'RFC 3339; the time of the request when absent.' })),
    conditions: Type.Array(ReportedCondition, { description: 'Available, Applied and Health are mandatory.' }),
    data: orNull(Open),
    metadata: orNull(ReportMetadata),
  },
  { $id: 'AdapterReport' },
)

export const AdapterStatus = Type.Object(
  {
    adapter: Type.String(),
    observed_generation: Generation,
    conditions: Type.Array(
      Type.Object({
        type: Type.String(),
        status: ReportedCondition.properties.status,
        reason: Type.Optional(Type.String()),
        message: Type.Optional(Type.String()),
        last_transition_time: Time,
      }),
    ),
    data: Open,
    metadata: Type.Optional(Open),
    created_time: Time,
    last_report_time: Time,
  },
  { $id: 'AdapterStatus' },
)

export const LoggedReport = Type.Object(
  {
    received_time: Time,
    reason: Type.String({ description: 'Why the report was not aggregated.' }),
    report: Type.Ref('AdapterReport'),
  },
  { $id: 'LoggedReport' },
)

export const EventDraft = Type.Object(
  {
    resourceType: Type.String({ minLength: 1, maxLength: 100, examples: ['clusters'] }),
    resourceId: Type.String({ minLength: 1, maxLength: 100 }),
    reason: Type.String({ minLength: 1, maxLength: 256 }),
    source: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Who asks; names the shard.' })),
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

export const ReceiptPatch = Type.Object({ visibility: Duration }, { $id: 'ReceiptPatch', additionalProperties: false })

export const Claim = Type.Object(
  { receipt: Type.String(), deliveries: Type.Integer({ minimum: 1 }), event: Type.Ref('Event') },
  { $id: 'Claim' },
)

export const DeadLetter = Type.Object(
  { id: Type.String(), deliveries: Type.Integer(), dead_time: Time, event: Type.Ref('Event') },
  { $id: 'DeadLetter' },
)

export const ForceDelete = Type.Object(
  { reason: Type.String({ minLength: 1, maxLength: 1024, description: 'Why adapters are not waited for; kept.' }) },
  { $id: 'ForceDelete', additionalProperties: false },
)

export const ArchivedResource = Type.Object(
  {
    archived_time: Time,
    forced: Type.Optional(
      Type.Object(
        { by: Type.String(), reason: Type.String() },
        { description: 'Only when it was removed by force-delete.' },
      ),
    ),
    resource: Type.Ref('Resource'),
    statuses: Type.Array(Type.Ref('AdapterStatus')),
  },
  { $id: 'ArchivedResource', description: 'A removed resource as it was last.' },
)

export const ArchivePurge = Type.Object(
  {
    before: Type.Optional(Type.String({ description: 'RFC 3339; what was archived before this time.' })),
    kind: Type.Optional(Type.String({ minLength: 1, maxLength: 100, examples: ['Cluster'] })),
  },
  { $id: 'ArchivePurge', additionalProperties: false, description: 'Give at least one; both must hold.' },
)

export const Purged = Type.Object({ purged: Type.Integer({ description: 'How many.' }) }, { $id: 'Purged' })

export const Problem = Type.Object(
  {
    type: Type.String({ format: 'uri' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String(),
    code: Type.String(),
    timestamp: Time,
    trace_id: Type.String(),
    errors: Type.Optional(
      Type.Array(
        Type.Object({ field: Type.String(), message: Type.String(), constraint: Type.Optional(Type.String()) }),
      ),
    ),
  },
  { $id: 'Problem', description: 'Problem details, RFC 9457' },
)

/** Every named shape, for the document. */
export const NAMED = [
  Condition,
  Resource,
  ResourceDraft,
  AnyResourceDraft,
  ResourcePatch,
  AdapterReport,
  AdapterStatus,
  LoggedReport,
  EventDraft,
  Event,
  ConsumerSettings,
  Consumer,
  ClaimSettings,
  ReceiptPatch,
  Claim,
  DeadLetter,
  ForceDelete,
  ArchivedResource,
  ArchivePurge,
  Purged,
  Problem,
] as const

/** The page of a list. */
export const listOf = (item: string) =>
  Type.Object({
    items: Type.Array(Type.Ref(item)),
    page: Type.Integer(),
    size: Type.Integer({ description: 'How many items this answer has.' }),
    total: Type.Integer({ description: 'How many there are in all.' }),
  })

const Page = Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })
const Size = Type.Integer({ minimum: 1, maximum: 100, default: 20 })

export const PageQuery = Type.Object({ page: Type.Optional(Page), size: Type.Optional(Size) })

export const ArchiveQuery = Type.Object({
  ...PageQuery.properties,
  id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
})

export const FieldsQuery = Type.Object({
  fields: Type.Optional(
    Type.String({ maxLength: 1024, description: 'Dotted paths, such as name,status.conditions.type.' }),
  ),
})

export const ListQuery = Type.Object({
  ...PageQuery.properties,
  ...FieldsQuery.properties,
  order: Type.Optional(
    Type.Union([Type.String({ maxLength: 1024 }), Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 20 })], {
      description: 'Columns with asc or desc, such as `name asc,created_time desc`. Default `created_time desc`.',
    }),
  ),
  search: Type.Optional(
    Type.String({ maxLength: 4096, description: "Such as labels.region='eu' and status.conditions.Ready='False'." }),
  ),
  labels: Type.Optional(Type.String({ maxLength: 4096, description: 'Kubernetes label selector.' })),
  after: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'Pages in the order of ids: the last id seen, empty to begin. Not with page or order.',
    }),
  ),
  ref_type: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Only what names ref_target_id by this reference.' }),
  ),
  ref_target_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Together with ref_type.' })),
  watch: Type.Optional(Type.Boolean({ description: 'Answers server-sent events instead of a page.' })),
  resourceVersion: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Watch from here on; from the present state when absent.',
    }),
  ),
})
