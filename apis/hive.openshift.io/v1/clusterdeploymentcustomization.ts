/**
 * ClusterDeploymentCustomization: what is special about one cluster of a pool, such as a name for which DNS is prepared.
 * Fields, condition and lease as in Hive's proposal of inventories, and the pool beside the cluster.
 */
import Type, { type Static } from 'typebox'
import { free } from '#apis/schema/free.ts'
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
      cordoned: Type.Optional(
        Type.Object(
          {
            reason: Type.String({
              description: 'Why, for people: it is told wherever the inventory is.',
              minLength: 1,
              maxLength: 256,
            }),
            drain: Type.Boolean({
              description: 'Whether the unclaimed cluster that leases it is deleted.',
              default: false,
            }),
          },
          { description: 'Out of service: no new cluster leases it. A claimed cluster keeps it.' },
        ),
      ),
      installerManifestPatches: Type.Optional(
        free({ description: 'Hive’s; kept as it is written, nothing acts on it here.' }),
      ),
    },
    { description: 'How the cluster differs from the others of its pool.' },
  )

/** How a lease ended. */
const OUTCOMES = ['Claimed', 'Unclaimed', 'NotInstalled', 'Failed', 'NeverMade', 'Lost'] as const

const holder = () =>
  Type.Object(
    {
      clusterDeployment: Type.String({ description: 'The cluster that leased it.', maxLength: 253 }),
      clusterPool: Type.Optional(Type.String({ description: 'The pool of that cluster.', maxLength: 253 })),
      leasedAt: Type.Optional(Type.String({ description: 'When it was leased.', format: 'date-time' })),
      releasedAt: Type.String({ description: 'When the lease was given back.', format: 'date-time' }),
      outcome: Type.Enum([...OUTCOMES], {
        description:
          'Claimed: a claim had the cluster. Unclaimed: it was installed, and no claim got it. NotInstalled: it went before. Failed: it could not be used. NeverMade: the cluster was not made. Lost: the cluster was gone when it was looked for.',
      }),
      message: Type.Optional(Type.String({ description: 'The error.', maxLength: 256 })),
    },
    { description: 'One lease that is over.' },
  )

const status = () =>
  Type.Object(
    {
      ...standardStatus({ isProbed: true }),
      clusterDeploymentRef: Type.Optional(
        namespacedReference({
          description: 'The cluster that holds the lease; it may be one that is about to be created.',
          of: 'ClusterDeployment',
        }),
      ),
      clusterPoolRef: Type.Optional(
        namespacedReference({ description: 'The pool of that cluster.', of: 'ClusterPool' }),
      ),
      registeredUid: Type.Optional(
        Type.String({
          description:
            'The uid of the ClusterDeployment that is registered with the HyperFleet API under this lease. Written before it is registered: a lease that is taken over at that moment is refused.',
          maxLength: 63,
        }),
      ),
      history: Type.Optional(
        Type.Array(holder(), {
          description: 'The last leases that are over, the newest first.',
          maxItems: 10,
          'x-kubernetes-list-type': 'atomic',
        }),
      ),
      lastAppliedConfiguration: Type.Optional(
        Type.String({ description: 'The patches that were last applied, as JSON.', maxLength: 262_144 }),
      ),
    },
    { description: 'The holder of the lease.' },
  )

export type ClusterDeploymentCustomizationSpec = Static<ReturnType<typeof spec>>
export type ClusterDeploymentCustomizationStatus = Static<ReturnType<typeof status>>
export type LeaseOutcome = (typeof OUTCOMES)[number]
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
      description: 'Results of the patches.',
    },
    {
      name: 'Cordoned',
      type: 'string',
      path: '.spec.cordoned.reason',
      description: 'Why it is out of service.',
    },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: [],
})
