/** The examples of docs/reference/task-language.md: the page is written from them, and a test runs each. */
export interface Example {
  readonly text: string
  /** What it gives; for a fault, the message. */
  readonly gives: string | number | boolean | readonly string[]
  readonly says?: string
}

/** The time of the examples. */
export const EXAMPLE_TIME = new Date('2026-01-02T15:04:05Z')

/** What the examples look at. */
export const EXAMPLE_VALUES = {
  clusterId: 'c1',
  cluster: {
    name: 'prod',
    generation: 3,
    deleted_time: null,
    labels: { region: 'us-east', 'hyperfleet.io/tier': 'gold' },
    spec: {
      pools: [
        { name: 'workers', replicas: 3 },
        { name: 'infra', replicas: 2 },
      ],
    },
    status: { conditions: [{ type: 'Ready', status: 'True', last_transition_time: '2026-01-02T14:04:05Z' }] },
  },
  resources: { namespace: { status: { phase: 'Active' } } },
  event: { id: 'c1', generation: 3 },
  env: {},
  config: {},
  adapter: { executionStatus: 'success', executionError: null },
} as const

/** Names of the examples' values that are params. */
export const EXAMPLE_NAMES = ['clusterId', 'cluster'] as const

export const EXPRESSION_EXAMPLES: readonly Example[] = [
  { text: 'cluster.generation + 1', gives: 4, says: 'numbers of JSON without a fraction are ints' },
  { text: 'cluster.?deleted_time.hasValue()', gives: false, says: 'null is as good as absent' },
  { text: 'resources.?namespace.?status.?phase.orValue("Missing")', gives: 'Active' },
  { text: 'resources.?job.?status.?succeeded.orValue(0) > 0', gives: false, says: 'an object that was not found' },
  { text: 'cluster.labels["hyperfleet.io/tier"] == "gold"', gives: true },
  { text: 'conditionStatus(cluster.status.conditions, "Ready")', gives: 'True' },
  { text: 'stableFor(cluster.status.conditions, "Ready", 300)', gives: true },
  { text: 'timestamp(now()) - timestamp("2026-01-02T15:00:00Z") > duration("4m")', gives: true },
  { text: 'cluster.spec.pools.filter(p, p.replicas > 2).map(p, p.name)', gives: ['workers'] },
  { text: 'cluster.spec.pools.sortBy(p, p.replicas)[0].name', gives: 'infra' },
  { text: 'triState(resources.?namespace.hasValue(), adapter.executionStatus == "failed")', gives: 'True' },
  { text: 'clusterId.matches("^c[0-9]+$") ? "short" : "long"', gives: 'short', says: 'patterns are RE2' },
]

export const TEMPLATE_EXAMPLES: readonly Example[] = [
  { text: 'ns-{{ .clusterId }}', gives: 'ns-c1' },
  { text: '{{ .cluster.name | upper | quote }}', gives: '"PROD"' },
  { text: '{{ index .cluster.labels "hyperfleet.io/tier" }}', gives: 'gold', says: 'a key that is no name' },
  { text: '{{ index .cluster.labels "nope" | default "none" }}', gives: 'none' },
  { text: '{{ if eq .cluster.name "prod" }}large{{ else }}small{{ end }}', gives: 'large' },
  {
    text: 'pools:\n{{- range $i, $p := .cluster.spec.pools }}\n- {{ $i }}-{{ $p.name }}\n{{- end }}',
    gives: 'pools:\n- 0-workers\n- 1-infra',
    says: '`{{-` takes the white space before it',
  },
  { text: '{{ now | date "2006-01-02" }}', gives: '2026-01-02', says: 'a layout of Go' },
  { text: '{{ printf "%s-%03d" .clusterId .cluster.generation }}', gives: 'c1-003' },
]

export const FAULT_EXAMPLES: readonly (Example & { readonly of: 'expression' | 'template' })[] = [
  {
    of: 'expression',
    text: 'clusterID == "c1"',
    gives: 'there is no variable clusterID: did you mean clusterId? at line 1, column 1: clusterID == "c1"',
  },
  {
    of: 'expression',
    text: 'cluster.spec.replicas > 1',
    gives: 'no such key: replicas: there are pools at line 1, column 14: cluster.spec.replicas > 1',
  },
  {
    of: 'template',
    text: '{{ .clusterID }}',
    gives: 'there is no value .clusterID: did you mean clusterId? at line 1, column 4 of the template',
  },
  {
    of: 'template',
    text: '{{ .cluster.nam }}',
    gives: 'there is no key "nam" in .cluster: did you mean "name"? at line 1, column 4 of the template',
  },
]
