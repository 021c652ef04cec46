/** Parts of the beginnings of test files' paths, or all tests. */
export type Affected = 'all' | readonly string[]

const ON_SERVERS = ['test/integration/', 'test/conformance/', 'test/e2e/']

/** Where manifests are rendered, applied, checked and delivered. */
const DELIVERED = [
  'hack/rights/',
  'hack/compatibility/',
  'hack/cluster/',
  'test/integration/delivery/',
  'test/integration/docs/',
  'test/integration/cluster/',
  'test/integration/cmd/',
  'test/integration/adapter/samples',
  'test/integration/image/',
  'test/integration/security/',
  'test/e2e/',
]

/** A controller runs as a process in its own tests, in those of the commands, and where the whole suite runs. */
const controller = (...folders: readonly string[]): readonly string[] => [
  ...folders.map((folder) => `test/integration/${folder}/`),
  'test/integration/cmd/',
  'test/integration/delivery/',
  'test/integration/docs/',
  'test/integration/faults/',
  'test/integration/upgrade/',
  'test/e2e/',
]

/**
 * What a change can affect that no import shows: tests start programs, run what pages tell, render and apply manifests. By the beginning of
 * the changed path; the longest that fits counts, and what none fits can affect everything.
 */
const BY_PATH: Readonly<Record<string, Affected>> = {
  'apis/': ['test/integration/', 'test/e2e/', 'hack/codegen/', 'hack/rights/', 'hack/compatibility/'],
  'cmd/': ON_SERVERS,
  'controllers/adapter/': controller('adapter'),
  'controllers/clusterclaim/': controller('clusterpool', 'clusterdeployment'),
  'controllers/clusterdeploymentcustomization/': controller('clusterpool', 'clusterdeployment'),
  'controllers/clusterdeployment/': controller('clusterdeployment', 'clusterpool'),
  'controllers/clusterdevice/': controller('clusterdevice', 'clusterpool', 'agent'),
  'controllers/clusterpool/': controller('clusterpool', 'clusterdeployment'),
  'controllers/fleet/': controller('fleet', 'agent', 'dashboard', 'clusterdevice'),
  'controllers/sentinel/': controller('sentinel'),
  'docs/': ['test/integration/docs/', 'hack/'],
  'examples/': ['test/integration/examples/', 'test/integration/docs/'],
  'examples/provider/': ['test/integration/providers/', 'test/integration/docs/'],
  'hack/': [
    'test/integration/docs/',
    'test/integration/cmd/',
    'test/integration/image/',
    'test/integration/delivery/',
    'test/e2e/',
  ],
  'hack/argocd/': ['test/e2e/argocd/', 'test/e2e/fire/', 'test/integration/docs/'],
  'hack/cluster/': ON_SERVERS,
  'hack/cluster-api/': ['test/integration/providers/', 'test/integration/docs/'],
  'hack/controlplane/': ON_SERVERS,
  'hack/gobuild/': [],
  'hack/local-clusters/': ['test/integration/providers/', 'test/integration/docs/', 'test/e2e/'],
  'hack/kindnode/': ['test/conformance/', 'test/e2e/'],
  'hack/process/': ON_SERVERS,
  'hack/run.mjs': ['test/integration/docs/', 'test/e2e/'],
  'hack/testing/': [],
  'kustomize/': [...DELIVERED, 'kustomize/'],
  'kustomize/providers/': [...DELIVERED, 'kustomize/', 'test/integration/providers/'],
  'lib/': ON_SERVERS,
  'manifests/': ON_SERVERS,
  'operator/': ON_SERVERS,
  'services/agent/': controller('agent', 'fleet', 'clusterdevice'),
  'services/dashboard/': controller('dashboard'),
  'services/hyperfleet-api/': [
    ...controller('hyperfleet-api', 'sentinel', 'adapter', 'dashboard'),
    'test/conformance/',
  ],
  'test/': [],
  'test/harness/global.ts': ON_SERVERS,
  'test/harness/shared-control-plane.ts': ON_SERVERS,
  'README.md': ['test/integration/docs/'],
  'SECURITY.md': ['test/integration/docs/'],
  'CODE_OF_CONDUCT.md': [],
  'CHANGELOG.md': ['test/integration/delivery/release'],
  LICENSE: [],
  Dockerfile: ['test/integration/image/', 'hack/image/'],
  '.dockerignore': ['test/integration/image/', 'hack/image/'],
  '.ci/': ['test/integration/docs/'],
  'biome.json': [],
  'knip.json': [],
  '.gitignore': [],
  '.oxlintrc.json': [],
}

/** What a change of these paths of the repository can affect, besides the tests that import them. */
export const affectedByPath = (changed: readonly string[]): Affected => {
  const parts = new Set<string>()
  for (const path of changed) {
    const fits = Object.keys(BY_PATH).filter((beginning) => path.startsWith(beginning))
    const affected = BY_PATH[fits.toSorted((a, b) => b.length - a.length)[0] ?? ''] ?? 'all'
    if (affected === 'all') return 'all'
    // A change of a test changes nothing but itself, which its import shows.
    if (!path.endsWith('.test.ts')) for (const part of affected) parts.add(part)
  }
  return [...parts]
}
