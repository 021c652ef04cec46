import { forceDeleteResource } from '../../mutations/force-delete.ts'
import { Problem } from '../../problems/problem.ts'
import { type Operation, operation } from '../operation.ts'
import { ForceDelete } from '../schemas/archive.ts'
import type { Service } from '../service.ts'
import { type Collection, itemOf, readAddress } from './collection.ts'

/** Removing what an adapter never cleans up. */
export const forceDeleteOperations = (service: Service, place: Collection): Operation[] => {
  const { path, parameters } = itemOf(place)
  return [
    operation({
      method: 'POST',
      path: `${path}/force-delete`,
      parameters,
      id: `forceDelete${place.suffix}`,
      summary: `Removes a ${place.entity.kind} in deletion and everything below it without waiting for adapters`,
      tag: place.entity.kind,
      role: 'admin',
      tenants: true,
      body: ForceDelete,
      responses: {
        204: { description: 'Gone; the archive has the caller and the reason' },
        409: { description: 'It is not being deleted' },
      },
      handle: async ({ parameters, body, identity, tenancy, time }) => {
        const reason = body.reason.trim()
        if (reason === '')
          throw new Problem('invalid', 'reason must say why adapters are not waited for', [
            { field: 'reason', message: 'must not be blank' },
          ])
        await forceDeleteResource(service, readAddress(place, { parameters, tenancy }), reason, { identity, time })
        return { status: 204 }
      },
    }),
  ]
}
