/** The schema of AdapterInventory. */
import Type, { type Static } from 'typebox'
import { freeObject } from '#apis/schema/free.ts'
import { POLICIES } from '../task/resources.ts'

const optionalText = (description: string) => Type.Optional(Type.String({ description, maxLength: 2048 }))

const inventoryObject = () =>
  Type.Object(
    {
      resource: Type.String({ description: 'Name of the resource in the task.', maxLength: 63 }),
      apiVersion: optionalText('Group and version of a Kubernetes object.'),
      kind: optionalText('Kind of a Kubernetes object.'),
      namespace: optionalText('Where it is; absent for kinds without namespaces.'),
      name: optionalText('Name of a Kubernetes object.'),
      uid: optionalText(
        'Which object of that name. Absent from before it is applied until the API server has answered.',
      ),
      url: optionalText('Where the object of an HTTP service is.'),
      generation: Type.Integer({
        description: 'Generation of the HyperFleet resource that it was last applied for.',
        format: 'int64',
        minimum: 0,
      }),
      propagationPolicy: Type.Enum([...POLICIES], { description: 'How it is deleted.' }),
      after: Type.Optional(
        Type.Array(Type.String({ description: 'Name of a resource.', maxLength: 63 }), {
          description: 'Resources of the task that are deleted before it.',
          maxItems: 64,
          'x-kubernetes-list-type': 'atomic',
        }),
      ),
      share: Type.Optional(
        Type.Enum(['First', 'Beside'], {
          description:
            'Other tasks have it too, or had: their inventories are asked before it is deleted. First: the object has the labels and annotations of this task.',
        }),
      ),
      hold: Type.Optional(
        Type.Enum(['Kept', 'Leaving'], {
          description:
            'Kept: the task does nothing with it any more, and it stays. Leaving: the task is about to leave or delete it, and other tasks do not leave it to this one.',
        }),
      ),
    },
    { description: 'One object that the task applies.' },
  )

export const adapterInventorySpec = () =>
  Type.Object(
    {
      task: Type.String({ description: 'Name of the AdapterTask.', minLength: 1, maxLength: 253 }),
      adapter: Type.String({ description: 'Under which the task reports.', minLength: 1, maxLength: 63 }),
      serviceAccountName: Type.String({
        description: 'In whose name the objects were applied.',
        minLength: 1,
        maxLength: 253,
      }),
      resourceId: Type.String({ description: 'Id of the HyperFleet resource.', minLength: 1, maxLength: 253 }),
      event: freeObject({
        description: 'Contents of an event about the HyperFleet resource: id, kind, href and owners.',
      }),
      objects: Type.Array(inventoryObject(), {
        description: 'Objects that were applied for the resource and are not known to be gone.',
        maxItems: 1024,
        'x-kubernetes-list-type': 'atomic',
      }),
    },
    { description: 'Objects that an adapter task has applied for one HyperFleet resource.' },
  )

export const adapterInventoryStatus = () => Type.Object({}, { description: 'Not used.' })

export type AdapterInventorySpec = Static<ReturnType<typeof adapterInventorySpec>>
export type AdapterInventoryStatus = Static<ReturnType<typeof adapterInventoryStatus>>
