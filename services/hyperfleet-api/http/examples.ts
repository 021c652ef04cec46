/** One example of each named shape, for the OpenAPI document. A test holds each against its shape. */

const TIME = '2026-01-31T12:00:00.000000Z'
const ID = '019c1398-6a00-7000-8d4e-0242ac120002'
const HREF = `/api/hyperfleet/v1/clusters/${ID}`

const condition = {
  type: 'Ready',
  status: 'False',
  reason: 'ReconciledMissingAdapters',
  message: 'Required adapters not reporting Available=True: [dns]. Currently reporting: []',
  observed_generation: 1,
  created_time: TIME,
  last_updated_time: TIME,
  last_transition_time: TIME,
}

const draft = { kind: 'Cluster', name: 'demo', labels: { region: 'eu' }, spec: { version: '4.20' } }

const resource = {
  ...draft,
  id: ID,
  href: HREF,
  generation: 1,
  created_time: TIME,
  updated_time: TIME,
  created_by: 'ada@example.com',
  updated_by: 'ada@example.com',
  tenancy: {},
  status: { phase: 'NotReady', conditions: [condition] },
}

const reported = [
  { type: 'Applied', status: 'True' },
  { type: 'Available', status: 'True', reason: 'ZoneServed' },
  { type: 'Health', status: 'True' },
]

const status = {
  adapter: 'dns',
  observed_generation: 1,
  conditions: reported.map((one) => ({ ...one, last_transition_time: TIME })),
  data: { zone: 'demo.example.com' },
  created_time: TIME,
  last_report_time: TIME,
}

const report = {
  adapter: 'dns',
  observed_generation: 1,
  observed_time: TIME,
  conditions: reported,
  data: { zone: 'demo.example.com' },
}

const event = {
  specversion: '1.0',
  id: `${ID}.1`,
  type: 'com.redhat.hyperfleet.cluster.reconcile',
  source: 'sentinel/cluster-sentinel-eu',
  subject: HREF,
  time: TIME,
  datacontenttype: 'application/json',
  data: { id: ID, kind: 'Cluster', href: HREF, generation: 1, reason: 'SpecChanged' },
}

export const EXAMPLES: Readonly<Record<string, object>> = {
  Condition: condition,
  Resource: resource,
  ResourceDraft: draft,
  AnyResourceDraft: draft,
  ResourcePatch: { spec: { version: '4.21' } },
  AdapterReport: report,
  AdapterStatus: status,
  LoggedReport: { received_time: TIME, reason: 'AvailableUnknown', report },
  EventDraft: { resourceType: 'clusters', resourceId: ID, reason: 'SpecChanged' },
  Event: event,
  ConsumerSettings: { resourceType: 'clusters', labels: 'region=eu' },
  Consumer: { name: 'dns', resourceType: 'clusters', labels: 'region=eu', maxDeliveries: 10 },
  ClaimSettings: { max: 10, wait: '20s', visibility: '30s' },
  ReceiptPatch: { visibility: '1m' },
  Claim: { receipt: '1.0f3a', deliveries: 1, event },
  DeadLetter: { id: event.id, deliveries: 10, dead_time: TIME, event },
  ForceDelete: { reason: 'the account was closed, its adapters will never report again' },
  ArchivedResource: { archived_time: TIME, resource, statuses: [status] },
  ArchivePurge: { before: TIME, kind: 'Cluster' },
  Purged: { purged: 3 },
  Kind: { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: ['nodepool-config'] },
  Explanation: {
    id: ID,
    kind: 'Cluster',
    name: 'demo',
    href: HREF,
    generation: 2,
    phase: 'Deleting',
    deleted_time: TIME,
    waits_for: ['adapter dns: its last report is of generation 1, not of 2'],
    adapters: [
      {
        adapter: 'dns',
        required: true,
        awaited: true,
        state: 'Awaited',
        why: 'its last report is of generation 1, not of 2',
        status,
      },
    ],
    discarded: [],
    remaining: [],
    children: [],
    groups: [],
    pulses: { last: { time: TIME, reason: 'Deleting', source: event.source } },
    queue: [
      {
        group: 'dns',
        event: event.id,
        reason: 'Deleting',
        generation: 2,
        time: TIME,
        deliveries: 0,
        state: 'Waiting',
        position: 1,
      },
    ],
  },
  DeletionPreview: {
    dry_run: true,
    blocked: false,
    resources: [
      {
        id: ID,
        kind: 'Cluster',
        name: 'demo',
        href: HREF,
        depth: 0,
        deleting: false,
        awaited: ['dns'],
        awaited_groups: [],
        blocked_by: [],
      },
    ],
  },
  Problem: {
    type: 'https://api.hyperfleet.io/errors/not-found',
    title: 'Resource Not Found',
    status: 404,
    detail: `Cluster with id='${ID}' not found`,
    instance: HREF,
    code: 'HYPERFLEET-NTF-001',
    timestamp: TIME,
    trace_id: '019c1398-6a01-7000-9b1f-0242ac120002',
  },
}
