import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { WHOLE_RUN } from './hack/testing/arguments.ts'
import { LongestFirst } from './hack/testing/longest-first.ts'
import { kindClusterMissing } from './test/harness/ground/kind/cluster.ts'

/** What needs a Docker engine. */
const ON_KIND = [
  'test/conformance/cluster.test.ts',
  'test/e2e/kind/**/*.test.ts',
  'test/integration/docker/private.test.ts',
]

/** What stands on Go programs that a whole run builds beside the tests of its first part. */
const BUILT_LATER = ['test/integration/providers/cluster-api.test.ts']

/** Tests that count what of a module is executed: in a worker's second file V8 has forgotten places that the first has run. */
const ALONE = ['test/integration/hyperfleet-api/every-plan.test.ts']

/** From commit to workload: with processes of this machine, or on kind. */
const GITOPS = ['test/e2e/argocd/*.test.ts']

/** A whole run has these on kind only, where it can have them there. */
const gitOpsHere = process.env[WHOLE_RUN] === undefined || kindClusterMissing() !== undefined

/**
 * One project a kind of test: `unit` needs nothing, `integration` runs on a real control plane (test/harness), `alone` has a process
 * for each file, `kind` on a cluster in
 * Docker, or on programs that are built meanwhile. What both can do, GitOps from commit to workload, is in both, so that it can be tried without Docker.
 */
export default defineConfig({
  test: {
    // As Node.js does it: the default import of a CommonJS package is its module.exports.
    deps: { interopDefault: false },
    // Most of a test's time is waiting for servers: with two workers more than there are cores these were busy for two thirds of a run.
    maxWorkers: availableParallelism() + 4,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['hack/testing/file-cost.ts', 'hack/testing/deep-properties.ts'],
    // Where all tests share two cores, what is waited for comes late; vitest gives it one second, and a test five.
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          // They keep nothing of each other's, so a worker's files share its modules: to load them for each took half of the processor's time.
          isolate: false,
          include: [
            '{apis,lib,operator,controllers,services,cmd,hack,kustomize,test/{bench,fuzz,harness,worlds}}/**/*.test.ts',
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          // As above: a process of its own took 0.8 core-seconds until the first test of a file.
          isolate: false,
          include: ['test/{integration,conformance,e2e}/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE, ...ON_KIND, ...BUILT_LATER, ...(gitOpsHere ? [] : GITOPS)],
          globalSetup: [
            'test/harness/idle-rights.ts',
            'test/harness/global.ts',
            'test/harness/shared-control-plane.ts',
          ],
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE } },
      {
        extends: true,
        test: {
          name: 'kind',
          include: [...ON_KIND, ...BUILT_LATER, ...GITOPS],
          env: { MUSTER_GITOPS_ON: 'kind' },
          globalSetup: ['test/harness/kind-global.ts', 'test/harness/global.ts'],
          // Each file has a cluster of its own, with the suite as pods. Three have room, since an engine has eight times the share of a
          // process (hack/docker/private.sh) and a file waits for most of its time; more would starve each other's probes.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
