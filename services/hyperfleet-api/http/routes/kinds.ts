import Type from 'typebox'
import type { Entity } from '../../model/entity.ts'
import { type Operation, operation } from '../operation.ts'
import type { Service } from '../service.ts'

/** What is served, for programs that must know which adapters a kind waits for: API-100. */
export const kindOperations = ({ entities }: Service): Operation[] => {
  const body = { items: entities.all.map(describeKind) }
  return [
    operation({
      method: 'GET',
      path: '/kinds',
      id: 'listKinds',
      summary: 'Lists the kinds, and the adapters that each requires',
      tag: 'Kinds',
      role: 'reader',
      tenants: true,
      responses: {
        200: { description: 'Every kind', schema: Type.Object({ items: Type.Array(Type.Ref('Kind')) }) },
      },
      handle: async () => ({ status: 200, body }),
    }),
  ]
}

const describeKind = ({ kind, plural, parent, requiredAdapters }: Entity) => ({
  kind,
  plural,
  ...(parent !== undefined && { parent_kind: parent.kind }),
  required_adapters: requiredAdapters,
})
