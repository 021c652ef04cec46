import Type from 'typebox'
import { Time } from './values.ts'

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
