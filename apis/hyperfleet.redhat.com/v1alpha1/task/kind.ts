import type { CustomKind } from '#apis/schema/kind.ts'
import { AdapterTask } from '../adaptertask.ts'
import { adapterTaskSpec, adapterTaskStatus } from './schema.ts'

/** The CRD of AdapterTask: its schema with what kubectl shows of it. */
export const adapterTaskKind = (): CustomKind => ({
  resource: AdapterTask,
  description:
    'An AdapterTask says what is applied for each HyperFleet resource of a type, what is reported about it, and how it is deleted.',
  shortNames: ['at'],
  spec: adapterTaskSpec(),
  status: adapterTaskStatus(),
  columns: [
    { name: 'Adapter', type: 'string', path: '.spec.adapter.name', description: 'Under which it reports.' },
    { name: 'Type', type: 'string', path: '.spec.resourceType', description: 'Resource type that is worked on.' },
    { name: 'Processed', type: 'integer', path: '.status.processed', description: 'Runs that ended.' },
    { name: 'Failing', type: 'integer', path: '.status.failing', description: 'Resources whose last run failed.' },
    { name: 'Deleting', type: 'integer', path: '.status.deleting', description: 'Resources in deletion.' },
    {
      name: 'Ready',
      type: 'string',
      path: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the task is worked on.',
    },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: ['.spec.adapter.name', '.spec.resourceType'],
})
