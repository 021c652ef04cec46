/**
 * ClusterDeployment: one cluster, made through the HyperFleet API. Fields as Hive's, so that its manifests apply.
 * Hive's proposal of inventories has `clusterPoolReference.ClusterDeploymentCustomizationRef`; its manifests have `clusterPoolRef.clusterDeploymentCustomization`, which is what stands here.
 */
import Type, { type Static } from 'typebox'
import { span } from '#apis/schema/duration.ts'
import { free } from '#apis/schema/free.ts'
import type { CustomKind } from '#apis/schema/kind.ts'
import { reference } from '#apis/schema/reference.ts'
import { rules } from '#apis/schema/rule.ts'
import { count, standardStatus } from '#apis/schema/status.ts'
import { defineResource, type KubeObject } from '#operator/model/resource.ts'
import { environment } from './environment.ts'
import { platform } from './platform.ts'

/** A condition of a ClusterDeployment: whether the HyperFleet API answers. It is there from the first outage on. */
export const API_REACHABLE = 'APIReachable'
/** A condition of a ClusterDeployment, as Hive's: whether the API server of its cluster, which was reached before, can't be reached. */
export const UNREACHABLE = 'Unreachable'
/** Its reason once it was so for half an hour while managers looked: so long a pool that says nothing else waits. */
export const UNREACHABLE_FOR_LONG = 'UnreachableForLong'
/** Reason of Ready, and of an adapter's Available: a quota is used up. CLUSTER-23. */
export const QUOTA_EXCEEDED = 'QuotaExceeded'
/** Reasons of an adapter's Available for which there will be room one day: no attempt fails for them. `Unschedulable`: no node takes a pod. CLUSTER-23. */
export const NO_ROOM_REASONS: readonly string[] = [QUOTA_EXCEEDED, 'Unschedulable']

const immutable = (field: string) => rules({ rule: 'self == oldSelf', message: `${field} can’t be changed` })

const clusterPoolRef = () =>
  Type.Object(
    {
      namespace: Type.String({
        description: 'Of the pool.',
        minLength: 1,
        maxLength: 63,
        ...immutable('clusterPoolRef.namespace'),
      }),
      poolName: Type.String({
        description: 'The pool.',
        minLength: 1,
        maxLength: 253,
        ...immutable('clusterPoolRef.poolName'),
      }),
      claimName: Type.Optional(
        Type.String({
          description: 'The claim that has the cluster, once there is one.',
          maxLength: 253,
          ...rules({
            rule: 'self == oldSelf',
            message: 'a claimed cluster stays with its claim: delete the claim to release it',
          }),
        }),
      ),
      claimedTimestamp: Type.Optional(Type.String({ description: 'When it was claimed.', format: 'date-time' })),
      clusterDeploymentCustomization: Type.Optional(
        reference({
          description: 'The customization that the cluster leases, in the namespace of the pool.',
          of: 'ClusterDeploymentCustomization',
        }),
      ),
    },
    {
      description: 'The pool that made the cluster.',
      ...rules(
        {
          rule: 'has(self.claimName) || !has(oldSelf.claimName)',
          message: 'claimName can’t be removed: a claimed cluster never goes back to its pool',
        },
        {
          rule: 'has(self.clusterDeploymentCustomization) == has(oldSelf.clusterDeploymentCustomization) && (!has(self.clusterDeploymentCustomization) || self.clusterDeploymentCustomization.name == oldSelf.clusterDeploymentCustomization.name)',
          message: 'clusterDeploymentCustomization can’t be changed: it is leased for the life of the cluster',
        },
      ),
    },
  )

const provisioning = () =>
  Type.Object(
    {
      imageSetRef: Type.Optional(reference({ description: 'The release that is installed.', of: 'ClusterImageSet' })),
      installConfigSecretRef: Type.Optional(
        reference({ description: 'A Secret whose key install-config.yaml holds the install-config.', of: 'Secret' }),
      ),
      installerEnv: Type.Optional(environment()),
      ...kept(
        'customizationRef',
        'installerImageOverride',
        'manifestsConfigMapRef',
        'manifestsSecretRef',
        'releaseImage',
        'sshKnownHosts',
        'sshPrivateKeySecretRef',
      ),
    },
    { description: 'How the cluster is installed.' },
  )

/** Fields of Hive's that nothing here acts on; kept, so that their writers find them again, and so that its exports apply strictly. */
const kept = (...names: readonly string[]) =>
  Object.fromEntries(
    names.map((name) => [
      name,
      Type.Optional(free({ description: 'Kept as it is written; nothing acts on it here.' })),
    ]),
  )

const spec = () =>
  Type.Object(
    {
      baseDomain: Type.String({
        description: 'The domain below which the cluster’s names are.',
        minLength: 1,
        maxLength: 253,
      }),
      clusterName: Type.String({ description: 'The cluster’s name.', minLength: 1, maxLength: 63 }),
      platform: platform(),
      clusterPoolRef: Type.Optional(clusterPoolRef()),
      provisioning: Type.Optional(provisioning()),
      pullSecretRef: Type.Optional(reference({ description: 'A Secret with .dockerconfigjson.', of: 'Secret' })),
      installed: Type.Boolean({
        description: 'Whether the cluster was installed; written by the controller.',
        default: false,
      }),
      powerState: Type.Enum(['Running', 'Hibernating'], {
        description: 'Whether the cluster is to run.',
        default: 'Running',
      }),
      hibernateAfter: Type.Optional(
        span({
          description:
            'How long it may run since its installation, its claim or its last awakening; then it is put to sleep. 0s: for ever. An unclaimed cluster is switched by its pool.',
        }),
      ),
      installAttemptsLimit: Type.Optional(
        Type.Integer({ description: 'How often the installation is tried.', minimum: 0, maximum: 1_000 }),
      ),
      preserveOnDelete: Type.Optional(
        Type.Boolean({ description: 'Leave the cluster as it is when this object is deleted.' }),
      ),
      clusterMetadata: Type.Optional(
        free({
          description:
            'The Secrets for the users of the cluster: who claims it may read adminKubeconfigSecretRef and adminPasswordSecretRef, and a fleet applies to it with the first, which becomes the Secret <name>-admin-kubeconfig when adapters make one. The rest is kept as it is written.',
        }),
      ),
      ...kept(
        'boundServiceAccountSigningKeySecretRef',
        'certificateBundles',
        'clusterInstallRef',
        'controlPlaneConfig',
        'ingress',
        'machineManagement',
        'manageDNS',
      ),
    },
    {
      description: 'The cluster that is wanted.',
      ...rules(
        {
          rule: 'has(self.clusterPoolRef) == has(oldSelf.clusterPoolRef)',
          message: 'clusterPoolRef can’t be added or removed: a cluster stays where it was made',
        },
        // That no cluster is made claimed is a policy: it depends on the user, and on a label (kustomize/base/policies).
      ),
    },
  )

const hyperfleet = () =>
  Type.Object(
    {
      id: Type.String({ description: 'The id of the cluster there.' }),
      href: Type.String({ description: 'Its path there.' }),
      generation: Type.Optional(
        Type.Integer({ description: 'The newest generation that was asked for.', format: 'int64', minimum: 0 }),
      ),
    },
    { description: 'The cluster in the HyperFleet API.' },
  )

const installWatch = () =>
  Type.Object(
    {
      seconds: Type.Integer({ description: 'How long.', format: 'int64', minimum: 0 }),
      until: Type.String({ description: 'When that was last written.', format: 'date-time' }),
    },
    {
      description:
        'How long the installation has been watched: the provisionDeadline of a pool goes by it. Time that the controller did not see, because it did not run or the HyperFleet API did not answer, counts for ten minutes at most.',
    },
  )

const reachability = () =>
  Type.Object(
    {
      uid: Type.String({
        description: 'Of the ClusterDeployment: it was reached, and not what has its status from a backup.',
      }),
      silentSeconds: Type.Integer({
        description:
          'For how long it has not answered since its last answer, in whole minutes: the unreachableDeadline of a pool goes by it. Time in which no manager asked does not count, and neither does time in which no cluster at all answered.',
        format: 'int64',
        minimum: 0,
      }),
    },
    { description: 'There once the API server of the cluster has answered a manager.' },
  )

/** So many records that are gone a status keeps; the newest. */
export const MAX_GONE_CLUSTERS = 16
export const MAX_REPORTERS = 64

const goneClusters = () =>
  Type.Array(
    Type.Object(
      {
        id: Type.String({ description: 'The id that the cluster had there; that of its registration when isUnknown.' }),
        isUnknown: Type.Optional(
          Type.Boolean({
            description: 'The id is not known: the ClusterDeployment came from a backup without its status.',
          }),
        ),
        time: Type.String({ description: 'When it was first seen that it is gone.', format: 'date-time' }),
        nothingLeft: Type.Boolean({
          description:
            'Adapters have taken away what they applied for it: the HyperFleet API waited for them, or it was looked for.',
        }),
        reportedBy: Type.Optional(
          Type.Array(Type.String({ description: 'The type of a condition.' }), {
            description: 'The conditions by which adapters had reported on it that may have left something.',
            maxItems: MAX_REPORTERS,
          }),
        ),
      },
      { description: 'A cluster that the HyperFleet API does not have any more.' },
    ),
    {
      description:
        'Clusters of it that the HyperFleet API does not have any more and of which adapters may have left something, and how the last one went.',
      maxItems: MAX_GONE_CLUSTERS,
    },
  )

const status = () =>
  Type.Object(
    {
      ...standardStatus({ isProbed: true }),
      powerState: Type.Optional(
        Type.String({
          description: 'Whether the cluster runs, as far as is known: Running, Hibernating, or on the way.',
        }),
      ),
      installedTimestamp: Type.Optional(
        Type.String({ description: 'When the cluster was installed.', format: 'date-time' }),
      ),
      installAttempts: count({ description: 'How often the installation has failed.' }),
      installWatch: Type.Optional(installWatch()),
      reachability: Type.Optional(reachability()),
      hyperfleet: Type.Optional(hyperfleet()),
      goneClusters: Type.Optional(goneClusters()),
      apiURL: Type.Optional(
        // As free as it was in the first release, when it was only kept.
        free<string>({ description: 'The URL of the cluster’s API server, from its admin kubeconfig.' }),
      ),
      ...kept(
        'certificateBundles',
        'cliImage',
        'clusterVersionStatus',
        'installRestarts',
        'installStartedTimestamp',
        'installVersion',
        'installerImage',
        'platformStatus',
        'provisionRef',
        'webConsoleURL',
      ),
    },
    { description: 'Observed state of the cluster.' },
  )

export type ClusterDeploymentSpec = Static<ReturnType<typeof spec>>
export type ClusterDeploymentStatus = Static<ReturnType<typeof status>>
export type ClusterDeployment = KubeObject<ClusterDeploymentSpec, ClusterDeploymentStatus>

/** The handle by which controllers and clients name this kind. */
export const ClusterDeployment = defineResource<ClusterDeploymentSpec, ClusterDeploymentStatus>({
  group: 'hive.openshift.io',
  version: 'v1',
  plural: 'clusterdeployments',
  kind: 'ClusterDeployment',
  scope: 'Namespaced',
  subresources: ['status'],
})

/** Everything that is generated from this file. */
export const clusterDeploymentKind = (): CustomKind => ({
  resource: ClusterDeployment,
  description: 'A ClusterDeployment is one cluster, made and deleted through the HyperFleet API.',
  shortNames: ['cd'],
  spec: spec(),
  status: status(),
  columns: [
    { name: 'Pool', type: 'string', path: '.spec.clusterPoolRef.poolName', description: 'The pool that made it.' },
    { name: 'Claim', type: 'string', path: '.spec.clusterPoolRef.claimName', description: 'The claim that has it.' },
    {
      name: 'Customization',
      type: 'string',
      path: '.spec.clusterPoolRef.clusterDeploymentCustomization.name',
      description: 'The customization that it leases.',
    },
    { name: 'Installed', type: 'boolean', path: '.spec.installed', description: 'Whether it was installed.' },
    { name: 'PowerState', type: 'string', path: '.status.powerState', description: 'Whether it runs.' },
    {
      name: 'Ready',
      type: 'string',
      path: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether it is as wanted.',
    },
    { name: 'API', type: 'string', path: '.status.apiURL', description: 'The URL of the cluster’s API server.' },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: ['.spec.clusterPoolRef.poolName', '.spec.clusterPoolRef.claimName'],
})
