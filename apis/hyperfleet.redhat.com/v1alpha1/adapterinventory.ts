/**
 * AdapterInventory: what an adapter task has applied for one HyperFleet resource. The adapter alone writes it, before it applies:
 * docs/decisions/adapter-inventory.md. Its schema is in ./inventory/schema.ts.
 */
import { defineResource, type KubeObject } from '#operator/model/resource.ts'
import type { AdapterInventorySpec, AdapterInventoryStatus } from './inventory/schema.ts'

export type { AdapterInventorySpec }
export type AdapterInventory = KubeObject<AdapterInventorySpec, AdapterInventoryStatus>
export type InventoryObject = AdapterInventorySpec['objects'][number]

/** The handle by which controllers and clients name this kind. */
export const AdapterInventory = defineResource<AdapterInventorySpec, AdapterInventoryStatus>({
  group: 'hyperfleet.redhat.com',
  version: 'v1alpha1',
  plural: 'adapterinventories',
  kind: 'AdapterInventory',
  scope: 'Namespaced',
  subresources: [],
})
