/**
 * AdapterTask: what is applied for each HyperFleet resource of a type, what is reported about it, and how it is taken away again.
 * Its schema is in ./task/schema.ts: a manager without adapters names this kind and loads none of it.
 */
import { defineResource, type KubeObject } from '#operator/model/resource.ts'
import type { AdapterTaskSpec, AdapterTaskStatus } from './task/schema.ts'

export type { AdapterTaskSpec, AdapterTaskStatus }
export type AdapterTask = KubeObject<AdapterTaskSpec, AdapterTaskStatus>

/** The handle by which controllers and clients name this kind. */
export const AdapterTask = defineResource<AdapterTaskSpec, AdapterTaskStatus>({
  group: 'hyperfleet.redhat.com',
  version: 'v1alpha1',
  plural: 'adaptertasks',
  kind: 'AdapterTask',
  scope: 'Namespaced',
  subresources: ['status'],
})
