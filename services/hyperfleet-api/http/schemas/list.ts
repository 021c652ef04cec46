import Type from 'typebox'

/** The page of a list. */
export const listOf = (item: string) =>
  Type.Object({
    items: Type.Array(Type.Ref(item)),
    page: Type.Integer(),
    size: Type.Integer({ description: 'How many items this answer has.' }),
    total: Type.Integer({ description: 'How many there are in all.' }),
  })

const Page = Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })
/** Items of a page when `size` is left out. */
export const DEFAULT_PAGE_SIZE = 20

const Size = Type.Integer({ minimum: 1, maximum: 100, default: DEFAULT_PAGE_SIZE })

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
  labels: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'Kubernetes label selector. Without page, size and after the answer is everything that matches.',
    }),
  ),
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
    Type.String({
      // A number, or what a tenant is shown for one.
      pattern: '^([0-9]{1,16}|[A-Za-z0-9_-]{48})$',
      description: 'Watch from here on; from the present state when absent.',
    }),
  ),
})
