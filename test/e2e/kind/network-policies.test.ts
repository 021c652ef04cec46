/**
 * What the NetworkPolicies of production, and those that pools make beside clusters, let through, by a network plugin that enforces them.
 * Each workload is a small pod with the labels and ports that the overlay gives it: policies know nothing else of a pod.
 */
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { networkPolicyManifests } from '#controllers/clusterpool/cluster/network-policies.ts'
import { type PrivateKind, privateKindMissing, startPrivateKind } from '#hack/cluster/kind/private.ts'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { enforcePolicies } from '#hack/kindnode/calico.ts'
import { SHELL_TAGS } from '#hack/kindnode/system-images.ts'
import type { Manifest } from '#test/integration/delivery/rules/manifest.ts'
import { running } from '#test/integration/delivery/rules/workload.ts'
import { aPool } from '#test/worlds/clusterpool/builders.ts'
import { METADATA, METADATA_POD } from './metadata.ts'

const missing = privateKindMissing()

const NAMESPACE = 'hyperfleet-system'

interface Actor {
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
}

/** Beside a cluster of a pool. */
const BESIDE = 'pool-1'

const HTTP = [{ name: 'http', containerPort: 8000 }]

/** Pods that are not ours: of another namespace, or of ours without any label. */
const OTHERS: readonly Actor[] = [
  { name: 'unlabelled', namespace: NAMESPACE, labels: {}, ports: HTTP },
  // A Job of a task.
  { name: 'job', namespace: 'hyperfleet-work', labels: {}, ports: HTTP },
  // Of a provider.
  { name: 'install', namespace: BESIDE, labels: { 'batch.kubernetes.io/job-name': 'i' }, ports: HTTP },
  { name: 'beside', namespace: BESIDE, labels: {}, ports: HTTP },
  { name: 'prometheus', namespace: 'monitoring', labels: {}, ports: [{ name: 'http', containerPort: 9090 }] },
  {
    name: 'postgres',
    namespace: 'database',
    labels: {},
    ports: [
      { name: 'sql', containerPort: 5432 },
      { name: 'other', containerPort: 5433 },
    ],
  },
  {
    // Stands for any address: the API server's, another cluster's, an issuer of tokens.
    name: 'elsewhere',
    namespace: 'elsewhere',
    labels: {},
    ports: [
      { name: 'https', containerPort: 443 },
      { name: 'kubernetes', containerPort: 6443 },
      { name: 'other', containerPort: 8443 },
    ],
  },
]

const SENTINELS = ['default', 'us-east', 'us-west']
  .map((shard) => `cluster-sentinel-${shard}`)
  .concat('nodepool-sentinel')
const MANAGERS = [
  ...SENTINELS,
  'fleet-operator',
  'hyperfleet-adapter',
  'hyperfleet-clusterdeployment',
  'hyperfleet-clusterdevice',
  'hyperfleet-clusterpool',
]
const OURS = [...MANAGERS, 'hyperfleet-api', 'nats']

const EVERYWHERE = ['kube-dns:dns']
const HTTPS = ['elsewhere:https', 'elsewhere:kubernetes']
/** A policy that names ports alone says of no address that it is left out. */
const ANY_HTTPS = [...HTTPS, 'metadata:443']
/** What is open to every pod of the cluster. */
const OF_ANY_POD = [
  ...EVERYWHERE,
  'hyperfleet-api:health',
  // It asks for a token.
  'hyperfleet-adapter:runs',
  // The API server is in no namespace, so no policy can name it as their caller.
  ...[...SENTINELS, 'hyperfleet-adapter'].map((name) => `${name}:webhook`),
  // No policy of ours is about these.
  ...ANY_HTTPS,
  'postgres:sql',
  'postgres:other',
  'metadata:80',
]

/** Of these the second is for the release before. */
const API = ['hyperfleet-api:https', 'hyperfleet-api:http']

/** What each may open a connection to. Nothing else flows. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(SENTINELS.map((name) => [name, [...EVERYWHERE, ...ANY_HTTPS, ...API]])),
  'fleet-operator': [...EVERYWHERE, ...ANY_HTTPS, 'nats:client'],
  'hyperfleet-adapter': [...EVERYWHERE, ...ANY_HTTPS, ...API, 'nats:client'],
  'hyperfleet-clusterdeployment': [...EVERYWHERE, ...ANY_HTTPS, ...API],
  'hyperfleet-clusterdevice': [...EVERYWHERE, ...ANY_HTTPS, 'nats:client'],
  'hyperfleet-clusterpool': [...EVERYWHERE, ...ANY_HTTPS],
  'hyperfleet-api': [...EVERYWHERE, ...ANY_HTTPS, 'nats:client', 'postgres:sql'],
  // muster nats, beside the server, calls the API server.
  nats: [...EVERYWHERE, ...ANY_HTTPS],
  unlabelled: [...EVERYWHERE, ...ANY_HTTPS],
  job: [],
  beside: [],
  install: [...EVERYWHERE, ...HTTPS],
  prometheus: [
    ...OF_ANY_POD,
    ...MANAGERS.map((name) => `${name}:metrics`),
    'hyperfleet-api:metrics',
    'elsewhere:other',
  ],
  // The stranger.
  elsewhere: [...OF_ANY_POD, 'prometheus:http'],
}

const podOf = ({ name, namespace, labels, ports }: Actor): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels },
  spec: {
    terminationGracePeriodSeconds: 0,
    enableServiceLinks: false,
    containers: [
      {
        name: 'shell',
        image: SHELL_TAGS[0],
        imagePullPolicy: 'IfNotPresent',
        command: [
          'sh',
          '-c',
          [...ports.map(({ containerPort }) => `httpd -p ${containerPort}`), 'sleep 100000'].join('; '),
        ],
        ports,
        // kubelet reaches every pod, whatever the policies.
        readinessProbe: { tcpSocket: { port: ports[0]?.containerPort }, periodSeconds: 1 },
      },
    ],
  },
})

describe.skipIf(missing !== undefined)(`network policies${missing === undefined ? '' : ` (${missing})`}`, () => {
  let cluster: PrivateKind
  let actors: readonly Actor[]
  /** Address and port by name of an actor and of its port. */
  let targets: ReadonlyMap<string, string>

  const lines = (objects: readonly object[]) => objects.map((object) => JSON.stringify(object)).join('\n---\n')

  beforeAll(async () => {
    cluster = await startPrivateKind({ say: console.error, readable: [CHECKOUT] })
    await enforcePolicies(cluster, console.error)
    const { kubectl } = cluster
    const overlay = loadAll(await kubectl(['kustomize', join(CHECKOUT, 'kustomize/overlays/prod')])) as Manifest[]
    const workloads = running(overlay).map(({ name, labels, ports }) => ({
      name: name.replace(/^.*\//, ''),
      namespace: NAMESPACE,
      labels,
      ports,
    })) as readonly Actor[]
    expect(workloads.map(({ name }) => name).toSorted()).toEqual(OURS.toSorted())
    actors = [...workloads, ...OTHERS]
    const namespaces = [...new Set(actors.map(({ namespace }) => namespace))].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      // As docs/install.md says.
      metadata: { name, ...(name === 'monitoring' && { labels: { 'muster.dev/reads-metrics': 'true' } }) },
    }))
    const policies = [
      ...overlay.filter(({ kind }) => kind === 'NetworkPolicy'),
      ...networkPolicyManifests(aPool(), BESIDE),
    ]
    await kubectl(['apply', '--filename=-'], {
      input: lines([...namespaces, ...policies, METADATA_POD, ...actors.map(podOf)]),
    })
    for (const { metadata } of namespaces)
      await kubectl([
        'wait',
        'pods',
        '--all',
        `--namespace=${metadata.name}`,
        '--for=condition=Ready',
        '--timeout=300s',
      ])
    targets = await addresses()
  }, 900_000)
  afterAll(() => cluster?.stop())

  const addresses = async (): Promise<ReadonlyMap<string, string>> => {
    const { items } = JSON.parse(await cluster.kubectl(['get', 'pods', '--all-namespaces', '--output=json'])) as {
      items: readonly {
        readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
        readonly status: { readonly podIP: string }
      }[]
    }
    const dns = items.find(({ metadata }) => metadata.labels?.['k8s-app'] === 'kube-dns')
    const of = (name: string) => items.find(({ metadata }) => metadata.name === name)?.status.podIP
    return new Map([
      ['kube-dns:dns', `${dns?.status.podIP} 53`],
      ...METADATA.ports.map((port) => [`metadata:${port}`, `${METADATA.address} ${port}`] as const),
      ...actors.flatMap(({ name, ports }) =>
        ports.map((port) => [`${name}:${port.name}`, `${of(name)} ${port.containerPort}`] as const),
      ),
    ])
  }

  /** Which of these an actor can open a connection to, all tried at once. @param seconds that it waits for each */
  const reached = async ({ name, namespace }: Actor, flows: readonly string[], seconds: number) => {
    const tries = flows.map(
      (flow) => `nc -w ${seconds} ${targets.get(flow)} </dev/null >/dev/null 2>&1 && echo ${flow} &`,
    )
    const script = `${tries.join('\n')}\nwait`
    const output = await cluster.kubectl(['exec', `--namespace=${namespace}`, name, '--', 'sh', '-c', script])
    return output.split('\n').filter(Boolean).toSorted()
  }

  // GITOPS-19
  test('what is named flows', { timeout: 300_000 }, async () => {
    for (const actor of actors) {
      const allowed = (ALLOWED[actor.name] ?? []).toSorted()
      await expect
        .poll(() => reached(actor, allowed, 10), { message: actor.name, timeout: 120_000, interval: 1_000 })
        .toEqual(allowed)
    }
  })

  // GITOPS-19, GITOPS-37, POOL-86
  test('attack: every pod, that of a stranger too, opens every connection that the install does not name', {
    timeout: 300_000,
  }, async () => {
    for (const actor of actors.filter(({ name }) => ALLOWED[name] !== undefined)) {
      const own = [...targets.keys()].filter((flow) => flow.startsWith(`${actor.name}:`))
      const denied = [...targets.keys()].filter((flow) => !own.includes(flow) && !ALLOWED[actor.name]?.includes(flow))
      expect({ from: actor.name, reached: await reached(actor, denied, 3) }).toEqual({ from: actor.name, reached: [] })
    }
  })

  test('names are found', async () => {
    const where = ['exec', `--namespace=${NAMESPACE}`, 'nats', '--']
    const output = await cluster.kubectl([...where, 'nslookup', 'kubernetes.default.svc.cluster.local'])
    expect(output).toContain('10.96.0.1')
  })
})
