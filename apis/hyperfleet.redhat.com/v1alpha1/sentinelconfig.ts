/**
 * SentinelConfig: which resources of the HyperFleet API one Sentinel pulses, and how often.
 * Fields and defaults: SENTINEL-27.
 */
import Type, { type Static } from 'typebox'
import { duration } from '#apis/schema/duration.ts'
import { httpUrl } from '#apis/schema/http-url.ts'
import type { CustomKind } from '#apis/schema/kind.ts'
import { labelSelector } from '#apis/schema/label-selector.ts'
import { rules } from '#apis/schema/rule.ts'
import { count, standardStatus } from '#apis/schema/status.ts'
import { defineResource, type KubeObject } from '#operator/model/resource.ts'

/** What a field means when it is absent: SENTINEL-27. */
export const SENTINEL_DEFAULTS = {
  backoffNotReady: '10s',
  backoffReady: '30m',
  timeout: '10s',
  pollInterval: '5s',
} as const

const autoShard = () =>
  Type.Object(
    {
      shards: Type.Optional(
        Type.Integer({
          description: 'Into how many shards the selected resources are divided.',
          minimum: 1,
          maximum: 1024,
        }),
      ),
      index: Type.Optional(
        Type.Integer({
          description: 'Which of the shards this Sentinel owns, counted from 0.',
          minimum: 0,
          maximum: 1023,
        }),
      ),
      replicas: Type.Optional(
        Type.Integer({
          description:
            'How many replicas of the Sentinel share the selected resources; each claims a free slot by itself.',
          minimum: 1,
          maximum: 1024,
        }),
      ),
    },
    {
      description:
        'Divides the selected resources further, by rendezvous hashing of their ids: one more shard moves only its own share.',
      ...rules(
        {
          rule: 'has(self.replicas) ? !has(self.shards) && !has(self.index) : has(self.shards) && has(self.index)',
          message: 'must hold either shards and index, or replicas alone',
        },
        {
          rule: '!has(self.shards) || !has(self.index) || self.index < self.shards',
          message: 'index must be below shards: the first shard has index 0',
        },
      ),
    },
  )

const hyperfleetAPI = () =>
  Type.Object(
    {
      url: Type.Optional(
        httpUrl({ description: 'HyperFleet API base URL. Absent, it is the --hyperfleet-api-url of the manager.' }),
      ),
      timeout: duration({
        description: 'How long one request to the HyperFleet API may take.',
        default: SENTINEL_DEFAULTS.timeout,
      }),
    },
    { description: 'How the HyperFleet API is reached.' },
  )

const spec = () =>
  Type.Object(
    {
      resourceType: Type.String({
        description: 'HyperFleet resource type to watch (clusters, nodepools, etc.)',
        maxLength: 63,
        ...rules({
          rule: "self.matches('^[a-z][a-z0-9]*(-[a-z0-9]+)*$')",
          message: 'must be the plural under which the API serves the type, in lower case: clusters, nodepools, …',
        }),
      }),
      backoffNotReady: duration({
        description: 'Backoff interval for resources NOT in Ready state',
        default: SENTINEL_DEFAULTS.backoffNotReady,
      }),
      backoffNotReadyMax: Type.Optional(
        duration({
          description:
            'Up to how much backoffNotReady grows, doubling with each pulse that no report follows, with jitter. Absent, it does not grow.',
        }),
      ),
      backoffReady: duration({
        description: 'Backoff interval for resources in Ready state',
        default: SENTINEL_DEFAULTS.backoffReady,
      }),
      shardSelector: Type.Optional(
        labelSelector({
          description: 'Label selector for resource sharding. Absent or empty, it selects every resource.',
        }),
      ),
      autoShard: Type.Optional(autoShard()),
      hyperfleetAPI: Type.Optional(hyperfleetAPI()),
      pollInterval: duration({
        description: 'How often to poll HyperFleet API',
        default: SENTINEL_DEFAULTS.pollInterval,
      }),
    },
    { description: 'Declared state of the Sentinel.' },
  )

const status = () =>
  Type.Object(
    {
      ...standardStatus(),
      shard: Type.Optional(
        Type.String({ description: 'The shard as text, e.g. region=us-east; all when everything is selected.' }),
      ),
      source: Type.Optional(
        Type.Enum(['Watch', 'Poll'], {
          description: 'Whether resources come by the API’s watch stream or by polling.',
        }),
      ),
      lastPollTime: Type.Optional(
        Type.String({ description: 'When all resources of the shard were last read.', format: 'date-time' }),
      ),
      resources: count({ description: 'Resources in the shard.' }),
      ready: count({ description: 'Resources in the shard that are Ready.' }),
      notReady: count({ description: 'Resources in the shard that are not Ready.' }),
      pulses: count({ description: 'Events created since the Sentinel began with this object.' }),
      lastError: Type.Optional(Type.String({ description: 'Last error with the API; absent once it works again.' })),
    },
    { description: 'Observed state of the Sentinel.' },
  )

export type SentinelConfigSpec = Static<ReturnType<typeof spec>>
export type SentinelConfigStatus = Static<ReturnType<typeof status>>
export type SentinelConfig = KubeObject<SentinelConfigSpec, SentinelConfigStatus>

/** The handle by which controllers and clients name this kind. */
export const SentinelConfig = defineResource<SentinelConfigSpec, SentinelConfigStatus>({
  group: 'hyperfleet.redhat.com',
  version: 'v1alpha1',
  plural: 'sentinelconfigs',
  kind: 'SentinelConfig',
  scope: 'Namespaced',
  subresources: ['status'],
})

/** Everything that is generated from this file. */
export const sentinelConfigKind = (): CustomKind => ({
  resource: SentinelConfig,
  description: 'A SentinelConfig names a shard of HyperFleet resources and how often the Sentinel pulses each of them.',
  // The short name. It is also StorageClass's, which wins in kubectl: docs say `kubectl get sentinelconfigs`.
  shortNames: ['sc'],
  spec: spec(),
  status: status(),
  columns: [
    { name: 'Type', type: 'string', path: '.spec.resourceType', description: 'Resource type that is pulsed.' },
    { name: 'Shard', type: 'string', path: '.status.shard', description: 'Selector of the shard.' },
    { name: 'Resources', type: 'integer', path: '.status.resources', description: 'Resources in the shard.' },
    { name: 'NotReady', type: 'integer', path: '.status.notReady', description: 'Resources that are not Ready.' },
    { name: 'Source', type: 'string', path: '.status.source', description: 'Watch or Poll.' },
    {
      name: 'Ready',
      type: 'string',
      path: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the Sentinel works on this shard.',
    },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp', description: 'Since when the object exists.' },
  ],
  selectableFields: ['.spec.resourceType'],
})
