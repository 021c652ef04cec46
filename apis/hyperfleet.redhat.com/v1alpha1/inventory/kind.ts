import type { CustomKind } from '#apis/schema/kind.ts'
import { AdapterInventory } from '../adapterinventory.ts'
import { adapterInventorySpec, adapterInventoryStatus } from './schema.ts'

/** The CRD of AdapterInventory: its schema with what kubectl shows of it. */
export const adapterInventoryKind = (): CustomKind => ({
  resource: AdapterInventory,
  description:
    'An AdapterInventory lists what an AdapterTask has applied for one HyperFleet resource. The adapter writes it; do not edit or delete it.',
  shortNames: ['ai'],
  isInternal: true,
  spec: adapterInventorySpec(),
  status: adapterInventoryStatus(),
  columns: [
    { name: 'Task', type: 'string', path: '.spec.task', description: 'The AdapterTask.' },
    { name: 'Resource', type: 'string', path: '.spec.resourceId', description: 'Id of the HyperFleet resource.' },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: ['.spec.task', '.spec.resourceId'],
})
