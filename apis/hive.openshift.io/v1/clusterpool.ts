/**
 * ClusterPool: so many clusters, installed and waiting to be claimed. Fields as Hive's, so that its manifests apply;
 * the inventory as in Hive's proposal: docs/spec/clusterpool.md.
 */
import Type, { type Static } from 'typebox'
import { span } from '#apis/schema/duration.ts'
import type { CustomKind } from '#apis/schema/kind.ts'
import { namespacedReference, reference } from '#apis/schema/reference.ts'
import { rules } from '#apis/schema/rule.ts'
import { count, standardStatus } from '#apis/schema/status.ts'
import { defineResource, type KubeObject } from '#operator/model/resource.ts'
import { environment } from './environment.ts'
import { platform } from './platform.ts'

const texts = (options: { description: string; value: string }) =>
  Type.Record(Type.String(), Type.String({ description: options.value, maxLength: 262_144 }), {
    description: options.description,
  })

/** How many clusters in a row may fail with one customization before it is not leased any more. */
export const INVENTORY_ATTEMPTS = 3

/** Several times what an installation takes, with the pauses between its attempts. */
export const PROVISION_DEADLINE = '6h'

/** Longer than a reboot of machines takes, or a repair of the network in between. */
export const UNREACHABLE_DEADLINE = '30m'

/** Clusters are few, and each is worth more than a program on a device: two at once, or a tenth of all, need no person. */
export const DELETION_BRAKE = { percent: 10, least: 2 } as const

const amount = (options: { description: string; default?: number }) =>
  Type.Integer({ format: 'int32', minimum: 0, maximum: 10_000, ...options })

const inventory = () =>
  Type.Object(
    {
      ClusterDeploymentCustomizations: Type.Array(
        reference({ description: 'One customization.', of: 'ClusterDeploymentCustomization' }),
        {
          description: 'The customizations that clusters of this pool lease, the first that is free first.',
          minItems: 1,
          maxItems: 2_000,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      ),
      attempts: Type.Integer({
        description: 'How many clusters in a row may fail with one customization before it is BrokenByCloud.',
        minimum: 1,
        maximum: 100,
        default: INVENTORY_ATTEMPTS,
      }),
      preflight: Type.Optional(
        Type.Boolean({
          description:
            'Before a customization is leased, look whether api.<cluster>.<baseDomain> of its install-config resolves and nothing answers there at port 6443; otherwise its condition Preflight and the entry say so.',
        }),
      ),
    },
    {
      description:
        'With it, every cluster leases one of these customizations, and there are never more clusters than customizations.',
    },
  )

const deletionBrake = () =>
  Type.Object(
    {
      percent: Type.Optional(
        Type.Integer({
          description: `A share of the pool’s clusters, in hundredths; ${DELETION_BRAKE.percent} when it is left out.`,
          minimum: 0,
          maximum: 100,
        }),
      ),
      least: Type.Optional(
        Type.Integer({
          description: `So many are deleted at any size of the pool; ${DELETION_BRAKE.least} when it is left out.`,
          minimum: 0,
          maximum: 10_000,
        }),
      ),
    },
    {
      description:
        'How many clusters may be deleted within ten minutes though no person asked for it: the larger of both. More wait for a person.',
    },
  )

const staleReplacement = () =>
  Type.Object(
    {
      maxConcurrent: Type.Integer({
        description: 'How many outdated unclaimed clusters are replaced at once.',
        minimum: 1,
        maximum: 1_000,
        default: 1,
      }),
    },
    { description: 'How clusters of an older pool version are replaced.', default: { maxConcurrent: 1 } },
  )

const spec = () =>
  Type.Object(
    {
      platform: platform(),
      baseDomain: Type.String({
        description: 'The domain below which the clusters’ names are.',
        minLength: 1,
        maxLength: 253,
      }),
      imageSetRef: reference({ description: 'The release that is installed.', of: 'ClusterImageSet' }),
      size: amount({ description: 'How many unclaimed clusters are kept.' }),
      runningCount: amount({ description: 'How many of them run; the others hibernate.', default: 0 }),
      maxSize: Type.Optional(
        amount({
          description: 'The most clusters that the pool may have, claimed ones included. No limit when absent.',
        }),
      ),
      maxConcurrent: Type.Optional(
        amount({
          description: 'The most installations and deletions at once; 0 freezes the pool. No limit when absent.',
        }),
      ),
      pullSecretRef: Type.Optional(reference({ description: 'A Secret with .dockerconfigjson.', of: 'Secret' })),
      installConfigSecretTemplateRef: Type.Optional(
        reference({
          description: 'A Secret whose key install-config.yaml is the template of the install-configs.',
          of: 'Secret',
        }),
      ),
      labels: Type.Optional(texts({ description: 'Labels of new clusters.', value: 'A label value.' })),
      annotations: Type.Optional(texts({ description: 'Annotations of new clusters.', value: 'An annotation.' })),
      claimLifetime: Type.Optional(
        Type.Object(
          {
            default: Type.Optional(span({ description: 'Of claims that say nothing.' })),
            maximum: Type.Optional(span({ description: 'No claim lives longer.' })),
          },
          { description: 'How long claims live.' },
        ),
      ),
      hibernateAfter: Type.Optional(
        span({
          description:
            'How long a claimed cluster may run since its claim or its last awakening; then it is put to sleep. 0s: for ever.',
        }),
      ),
      hibernationConfig: Type.Optional(
        Type.Object(
          {
            resumeTimeout: Type.Optional(
              span({ description: 'An unclaimed cluster that takes longer to resume is broken. 0s waits for ever.' }),
            ),
          },
          { description: 'How clusters hibernate.' },
        ),
      ),
      installAttemptsLimit: Type.Optional(
        Type.Integer({ description: 'How often an installation is tried.', minimum: 0, maximum: 1_000 }),
      ),
      // No default of the definition: it would change what is stored of every pool, and back at a rollback.
      provisionDeadline: Type.Optional(
        span({
          description: `An unclaimed cluster that is not installed so long after it was made has failed and is replaced; outages of the HyperFleet API and of the controller of ClusterDeployments don’t count. 0s waits for ever; ${PROVISION_DEADLINE} when it is left out.`,
        }),
      ),
      // As above.
      unreachableDeadline: Type.Optional(
        span({
          description: `An unclaimed cluster whose API server was reached, and then has not answered for so long while a manager asked, is replaced. 0s: never; ${UNREACHABLE_DEADLINE} when it is left out.`,
        }),
      ),
      installerEnv: Type.Optional(environment()),
      skipMachinePools: Type.Optional(Type.Boolean({ description: 'Kept as it is written; nothing acts on it here.' })),
      customizationRef: Type.Optional(
        reference({
          description:
            'A customization for every cluster of the pool, applied before the leased one; it is not leased.',
          of: 'ClusterDeploymentCustomization',
        }),
      ),
      inventory: Type.Optional(inventory()),
      // As above: a default of the definition would change what is stored.
      deletionBrake: Type.Optional(deletionBrake()),
      staleReplacement: staleReplacement(),
    },
    {
      description: 'The clusters that are wanted.',
      ...rules(
        {
          rule: '!has(self.maxSize) || self.size <= self.maxSize',
          message: 'size must be at most maxSize: raise maxSize or lower size',
        },
        {
          rule: '!has(self.runningCount) || self.runningCount <= self.size',
          message: 'runningCount must be at most size: there are no more clusters to run',
        },
      ),
    },
  )

/** What an entry of the inventory is to this pool: POOL-12 to POOL-15, POOL-23, POOL-25. */
export const ENTRY_STATUSES = [
  'Available',
  'Reserved',
  'BrokenByConfiguration',
  'BrokenByCloud',
  'Missing',
  'Unavailable',
  'ToBeDeleted',
  'ToBeUpdated',
] as const

const failure = () =>
  Type.Object(
    {
      count: Type.Integer({ description: 'How many clusters in a row have failed with it.', minimum: 1, maximum: 100 }),
      uid: Type.String({ description: 'The uid of the last one: each is counted once.', maxLength: 63 }),
      poolVersion: Type.String({
        description: 'The pool version of that one: with another one the failures are forgotten.',
        maxLength: 63,
      }),
      message: Type.String({ description: 'Error of that one.', maxLength: 1_024 }),
    },
    { description: 'Clusters that failed with it since the last one that was installed, or since it was edited.' },
  )

const entry = () =>
  Type.Object(
    {
      version: Type.Optional(Type.String({ description: 'The version of the customization that was last seen.' })),
      status: Type.Enum([...ENTRY_STATUSES], { description: 'State of the customization in this pool.' }),
      cordoned: Type.Optional(Type.Boolean({ description: 'Whether it is out of service; the message says why.' })),
      attempts: count({ description: 'How many clusters may still fail with it before it is BrokenByCloud.' }),
      failure: Type.Optional(failure()),
      retryTime: Type.Optional(
        Type.String({ description: 'It cools off until then, after a cluster failed with it.', format: 'date-time' }),
      ),
      clusterDeployment: Type.Optional(
        namespacedReference({ description: 'The cluster of this pool that leases it.', of: 'ClusterDeployment' }),
      ),
      message: Type.Optional(Type.String({ description: 'The error, and the way to correct it.', maxLength: 4_096 })),
    },
    { description: 'One customization as this pool sees it.' },
  )

const status = () =>
  Type.Object(
    {
      ...standardStatus({ isProbed: true }),
      size: count({ description: 'Unclaimed clusters.' }),
      ready: count({ description: 'Unclaimed clusters that are installed and run.' }),
      standby: count({ description: 'Unclaimed clusters that are installed and hibernate.' }),
      claimed: count({ description: 'Claimed clusters.' }),
      poolVersion: Type.Optional(
        Type.String({
          description: 'Of what decides how clusters are installed; a cluster of another one is outdated.',
        }),
      ),
      recentDeletions: Type.Optional(
        Type.String({
          description:
            'How many clusters were deleted of late though no person asked for it, by the minute: the count of the brake, for the process that comes next.',
          maxLength: 1_024,
        }),
      ),
      inventorySummary: Type.Optional(
        Type.String({ description: 'How many customizations can be used, of how many: 5/7.' }),
      ),
      inventory: Type.Optional(
        Type.Record(Type.String(), entry(), { description: 'The inventory, by the name of the customization.' }),
      ),
    },
    { description: 'The clusters that there are.' },
  )

export type ClusterPoolSpec = Static<ReturnType<typeof spec>>
export type ClusterPoolStatus = Static<ReturnType<typeof status>>
export type InventoryEntry = Static<ReturnType<typeof entry>>
export type ClusterPool = KubeObject<ClusterPoolSpec, ClusterPoolStatus>

/** The handle by which controllers and clients name this kind. */
export const ClusterPool = defineResource<ClusterPoolSpec, ClusterPoolStatus>({
  group: 'hive.openshift.io',
  version: 'v1',
  plural: 'clusterpools',
  kind: 'ClusterPool',
  scope: 'Namespaced',
  subresources: ['status', 'scale'],
})

/** Everything that is generated from this file. */
export const clusterPoolKind = (): CustomKind => ({
  resource: ClusterPool,
  description: 'A ClusterPool keeps clusters installed and waiting, so that a claim has one at once.',
  shortNames: ['cp'],
  spec: spec(),
  status: status(),
  scale: { spec: '.spec.size', status: '.status.size' },
  columns: [
    { name: 'Size', type: 'integer', path: '.spec.size', description: 'Unclaimed clusters that are wanted.' },
    { name: 'Ready', type: 'integer', path: '.status.ready', description: 'Unclaimed clusters that run.' },
    { name: 'Standby', type: 'integer', path: '.status.standby', description: 'Unclaimed clusters that hibernate.' },
    { name: 'Claimed', type: 'integer', path: '.status.claimed', description: 'Claimed clusters.' },
    {
      name: 'Inventory',
      type: 'string',
      path: '.status.inventorySummary',
      description: 'Customizations that can be used, of how many.',
    },
    { name: 'Version', type: 'string', path: '.status.poolVersion', description: 'The pool version.' },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: [],
})
