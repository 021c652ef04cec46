/** A day in the life: something of every kind that a page shows, the good and the bad. */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { AdapterRun } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import type { Trace } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { World } from './world.ts'

const ago = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString()

/** Ready, Reconciling or Stalled, as controllers write it. */
const standing = (type: 'Ready' | 'Reconciling' | 'Stalled', reason: string, message: string, minutes = 30) =>
  ['Ready', 'Reconciling', 'Stalled'].map((each) => ({
    type: each,
    status: each === type ? 'True' : 'False',
    reason: each === type || each === 'Ready' ? reason : `Not${each}`,
    message: each === type || each === 'Ready' ? message : '',
    lastTransitionTime: ago(minutes),
  }))

const pools = ({ shelf }: World): void => {
  shelf.put(ClusterPool, {
    metadata: { namespace: 'pools', name: 'aws-small' },
    spec: { size: 3 },
    status: {
      size: 3,
      ready: 2,
      standby: 1,
      claimed: 2,
      poolVersion: '7f3b2c91',
      inventorySummary: '5/7',
      inventory: {
        'cdc-berlin-1': { status: 'Reserved', clusterDeployment: { namespace: 'aws-small-x1', name: 'aws-small-x1' } },
        'cdc-berlin-2': { status: 'Reserved', clusterDeployment: { namespace: 'aws-small-x2', name: 'aws-small-x2' } },
        'cdc-oslo-1': { status: 'Available' },
        'cdc-oslo-2': { status: 'Available' },
        'cdc-porto-1': { status: 'ToBeUpdated', message: 'edited since its cluster was made' },
        'cdc-porto-2': {
          status: 'BrokenByConfiguration',
          message: 'patch 2: path /controlPlane/replica does not exist: write /controlPlane/replicas',
        },
        'cdc-riga-1': { status: 'BrokenByCloud', attempts: 0, message: 'quota of elastic addresses exceeded' },
      },
      conditions: [
        ...standing('Ready', 'Filled', '3 of 3 wanted clusters are installed; running: 2'),
        {
          type: 'InventoryValid',
          status: 'False',
          reason: 'SomeUnusable',
          message: '5 of 7 usable; broken: cdc-porto-2; broken by cloud: cdc-riga-1',
          lastTransitionTime: ago(130),
        },
      ],
    },
  })
  shelf.put(ClusterPool, {
    metadata: { namespace: 'pools', name: 'gcp-large' },
    spec: { size: 2 },
    status: {
      size: 1,
      ready: 0,
      standby: 0,
      claimed: 1,
      conditions: standing('Stalled', 'MissingDependencies', 'add what is missing: ClusterImageSet img4.19', 47),
    },
  })
  for (const [name, claim, power] of [
    ['aws-small-x1', 'ci-1041', 'Running'],
    ['aws-small-x2', undefined, 'Hibernating'],
  ] as const)
    shelf.put(ClusterDeployment, {
      metadata: { namespace: name, name },
      spec: {
        clusterPoolRef: {
          namespace: 'pools',
          poolName: 'aws-small',
          claimName: claim,
          clusterDeploymentCustomization: { name: `cdc-berlin-${name.at(-1)}` },
        },
      },
      status: { powerState: power, conditions: standing('Ready', 'Installed', 'the cluster is installed') },
    })
}

const claims = ({ shelf }: World): void => {
  shelf.put(ClusterClaim, {
    metadata: { namespace: 'pools', name: 'ci-1041' },
    spec: { clusterPoolName: 'aws-small', namespace: 'aws-small-x1', subjects: [{ kind: 'Group', name: 'ci' }] },
    status: {
      lifetime: '8h',
      conditions: [
        {
          type: 'Pending',
          status: 'False',
          reason: 'ClusterClaimed',
          message: 'the cluster is claimed',
          lastTransitionTime: ago(70),
        },
        {
          type: 'ClusterRunning',
          status: 'True',
          reason: 'Running',
          message: 'the cluster runs',
          lastTransitionTime: ago(68),
        },
      ],
    },
  })
  shelf.put(ClusterClaim, {
    metadata: { namespace: 'pools', name: 'perf-7', creationTimestamp: ago(50) },
    spec: { clusterPoolName: 'gcp-large' },
    status: {
      queuePosition: 1,
      conditions: [
        {
          type: 'Pending',
          status: 'True',
          reason: 'NoClusters',
          message: 'the pool has no cluster to give',
          lastTransitionTime: ago(48),
        },
      ],
    },
  })
}

const hyperfleet = ({ shelf, runs }: World): void => {
  const spec = {
    resourceType: 'clusters',
    backoffNotReady: '10s',
    backoffReady: '30m',
    hyperfleetAPI: { url: 'http://hyperfleet-api:8000' },
  }
  shelf.put(SentinelConfig, {
    metadata: { namespace: 'hyperfleet-system', name: 'cluster-sentinel-us-east' },
    spec,
    status: {
      shard: 'region=us-east',
      source: 'Watch',
      ready: 1_912,
      notReady: 7,
      resources: 1_919,
      pulses: 48_211,
      lastPollTime: ago(1),
      conditions: standing('Ready', 'Watching', 'follows the watch stream of the API', 600),
    },
  })
  shelf.put(SentinelConfig, {
    metadata: { namespace: 'hyperfleet-system', name: 'cluster-sentinel-eu' },
    spec,
    status: {
      shard: 'region in (eu-north,eu-west)',
      source: 'Poll',
      ready: 604,
      notReady: 2,
      resources: 606,
      pulses: 12_730,
      conditions: standing(
        'Reconciling',
        'Unreachable',
        'the API does not answer: connect ECONNREFUSED; tried again every 5s',
        22,
      ),
    },
  })
  shelf.put(AdapterTask, {
    metadata: { namespace: 'hyperfleet-system', name: 'cluster-config' },
    spec: { adapter: { name: 'cluster-config' }, resourceType: 'clusters', suspend: false },
    status: {
      processed: 9_311,
      failed: 12,
      skipped: 240,
      inFlight: 3,
      failing: 0,
      deleting: 2,
      stuck: 0,
      conditions: standing('Ready', 'Working', 'takes events', 600),
    },
  })
  shelf.put(AdapterTask, {
    metadata: { namespace: 'hyperfleet-system', name: 'cluster-dns' },
    spec: { adapter: { name: 'cluster-dns' }, resourceType: 'clusters', suspend: false },
    status: {
      processed: 4_402,
      failed: 81,
      skipped: 3,
      inFlight: 1,
      failing: 2,
      deleting: 1,
      stuck: 1,
      lastError: 'zone: 409 Conflict: the zone example.org is locked by another change',
      conditions: standing('Ready', 'Working', 'takes events', 600),
    },
  })
  for (let n = 1; n <= 8; n++) runs.record(runOf(n))
}

const runOf = (n: number): Omit<AdapterRun, 'id'> => {
  const isBad = n % 4 === 0
  const message = '409 Conflict: the zone example.org is locked by another change'
  const trace: Trace = {
    event: { id: `c-${1_000 + n}` },
    status: isBad ? 'failed' : 'success',
    mode: 'apply',
    failures: isBad ? [{ phase: 'resources', step: 'zone', reason: 'Conflict', message }] : [],
    params: [{ name: 'zone', value: 'example.org' }],
    preconditions: [{ name: 'clusterIsThere', met: true }],
    resources: [
      { name: 'namespace', action: 'applied', object: `Namespace c-${1_000 + n}` },
      { name: 'zone', action: isBad ? 'failed' : 'applied', object: 'https://dns.example.org/zones/example.org' },
    ],
    payloads: [],
    actions: [{ name: 'report', status: 'done' }],
    requests: [{ method: 'PUT', url: `/clusters/c-${1_000 + n}/statuses`, status: 204, attempts: 1 }],
    startedAt: ago(20 - n),
    duration: 84 + n * 17,
  }
  return {
    namespace: 'hyperfleet-system',
    task: 'cluster-dns',
    adapter: 'cluster-dns',
    resource: `c-${1_000 + n}`,
    trace,
  }
}

const fleet = ({ fleet: world }: World, devices: number): void => {
  const regions = ['berlin', 'oslo', 'porto', 'riga']
  const name = (n: number) => `edge-${String(n).padStart(String(devices).length, '0')}`
  for (let n = 1; n <= devices; n++)
    world.join(
      name(n),
      {
        region: regions[n % regions.length] ?? '',
        ring: n % 10 === 0 ? 'canary' : 'main',
        arch: n % 3 === 0 ? 'arm64' : 'amd64',
      },
      n === 17,
    )
  world.deploy('telemetry')
  world.deploy('checkout', { selector: { matchLabels: { ring: 'main' } } })
  world.deploy('camera', { selector: { matchLabels: { region: 'berlin' } } })
  const rest = { from: 0, startedAt: ago(64), batchStartedAt: ago(22), policy: 'p' }
  const share = (part: number) => Math.max(1, Math.round(devices * part))
  world.roll('telemetry', {
    ...rest,
    phase: 'Active',
    revision: 1,
    batch: 2,
    batches: [{ size: share(0.1) }, { size: share(0.3) }, { size: share(0.6) }],
  })
  world.roll('checkout', {
    ...rest,
    phase: 'Suspended',
    revision: 1,
    batch: 1,
    batches: [{ size: share(0.1) }, { size: share(0.8) }],
    message: 'batch 1: 8 of 12 devices succeeded, which is less than 90 %',
  })
  world.roll('camera', {
    ...rest,
    phase: 'Waiting',
    revision: 1,
    batch: 1,
    batches: [{ size: share(0.05) }, { size: share(0.2) }],
    goodSince: rest.startedAt,
    message: 'batch 2 waits for approval',
  })
  for (let n = 1; n <= devices; n++) {
    if (n % 29 === 0) continue
    world.say(name(n), 'telemetry', n % 11 === 0 ? { phase: 'Pending' } : {})
    if (n % 10 !== 0)
      world.say(
        name(n),
        'checkout',
        n % 13 === 0
          ? { phase: 'Failed', message: 'exit code 1: no such file or directory: /etc/checkout/terminal.conf' }
          : {},
      )
    if (n % 4 === 0) world.say(name(n), 'camera')
  }
  for (let n = 5; n <= devices; n += 41) world.leave(name(n))
}

/** @param devices How many there are. */
export const fill = (world: World, devices = 240): void => {
  pools(world)
  claims(world)
  hyperfleet(world)
  fleet(world, devices)
  world.fleet.converge()
}

/** Every page that the scene has something to show on. */
export const PATHS = [
  '/',
  '/pools',
  '/pools/pools/aws-small',
  '/claims',
  '/claims/pools/ci-1041',
  '/sentinels',
  '/sentinels/hyperfleet-system/cluster-sentinel-eu',
  '/tasks',
  '/tasks/hyperfleet-system/cluster-dns',
  '/tasks/hyperfleet-system/cluster-dns/runs/4',
  '/deployments',
  '/deployments/shop/checkout',
  '/devices',
  '/devices/edge-26',
  '/preview?selector=region+in+(berlin%2Cporto)%2Cring%3Dcanary',
] as const
