/**
 * ClusterDeploymentCustomization: what is special about one cluster of a pool, such as a name for which DNS is prepared.
 * Fields, condition and lease as in Hive's proposal of inventories, and the pool beside the cluster.
 */
import Type, { type Static } from 'typebox'
import type { CustomKind } from '#apis/schema/kind.ts'
import { namespacedReference } from '#apis/schema/reference.ts'
import { standardStatus } from '#apis/schema/status.ts'
import { defineResource, type KubeObject } from '#operator/model/resource.ts'
import { patches } from './patch.ts'

const spec = () =>
  Type.Object(
    {
      installConfigPatches: Type.Optional(
        patches({ description: 'Applied in this order to the install-config of the cluster that leases this.' }),
      ),
      clusterDeploymentSpecPatches: Type.Optional(
        patches({ description: 'Applied in this order to the spec of the ClusterDeployment.' }),
      ),
    },
    { description: 'How the cluster differs from the others of its pool.' },
  )

const status = () =>
  Type.Object(
    {
      ...standardStatus(),
      clusterDeploymentRef: Type.Optional(
        namespacedReference({
          description: 'The cluster that holds the lease; it may be one that is about to be created.',
          of: 'ClusterDeployment',
        }),
      ),
      clusterPoolRef: Type.Optional(
        namespacedReference({ description: 'The pool of that cluster.', of: 'ClusterPool' }),
      ),
      lastAppliedConfiguration: Type.Optional(
        Type.String({ description: 'The patches that were last applied, as JSON.', maxLength: 262_144 }),
      ),
    },
    { description: 'Who holds the lease.' },
  )

export type ClusterDeploymentCustomizationSpec = Static<ReturnType<typeof spec>>
export type ClusterDeploymentCustomizationStatus = Static<ReturnType<typeof status>>
export type ClusterDeploymentCustomization = KubeObject<
  ClusterDeploymentCustomizationSpec,
  ClusterDeploymentCustomizationStatus
>

/** The handle by which controllers and clients name this kind. */
export const ClusterDeploymentCustomization = defineResource<
  ClusterDeploymentCustomizationSpec,
  ClusterDeploymentCustomizationStatus
>({
  group: 'hive.openshift.io',
  version: 'v1',
  plural: 'clusterdeploymentcustomizations',
  kind: 'ClusterDeploymentCustomization',
  scope: 'Namespaced',
  subresources: ['status'],
})

/** Everything that is generated from this file. */
export const clusterDeploymentCustomizationKind = (): CustomKind => ({
  resource: ClusterDeploymentCustomization,
  description:
    'A ClusterDeploymentCustomization holds the patches that make one cluster of a pool differ from the others; one cluster at a time leases it.',
  shortNames: ['cdc'],
  spec: spec(),
  status: status(),
  columns: [
    {
      name: 'Available',
      type: 'string',
      path: '.status.conditions[?(@.type=="Available")].status',
      description: 'Whether a cluster may lease it.',
    },
    { name: 'Pool', type: 'string', path: '.status.clusterPoolRef.name', description: 'The pool that holds it.' },
    {
      name: 'Cluster',
      type: 'string',
      path: '.status.clusterDeploymentRef.name',
      description: 'The cluster that holds it.',
    },
    {
      name: 'Applied',
      type: 'string',
      path: '.status.conditions[?(@.type=="Applied")].reason',
      description: 'What became of the patches.',
    },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: [],
})
