import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheFolder } from '../cache/folder.ts'

/** How long each test file took the last time, in seconds, by its path in the repository. */
export type Durations = Readonly<Record<string, number>>

const remembered = (): string => join(cacheFolder(), 'tests', 'durations.json')

/** What earlier runs on this machine took; nothing when there was none. */
export const readDurations = (file = remembered()): Durations => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Durations
  } catch {
    // Missing, or not ours to read: it only orders files and guesses the time left.
    return {}
  }
}

/** Adds what a run took to what is remembered. */
export const writeDurations = (durations: Durations, file = remembered()): void => {
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, JSON.stringify({ ...readDurations(file), ...durations }, undefined, 1))
  renameSync(draft, file)
}

/** Whole suites of processes: minutes each. */
const SUITES = /^test\/(e2e|integration\/docs)\//

/** What those took that take longest: in a fresh clone, and in CI, nothing is remembered, and a run is as long as the last of them. */
export const LONG: Durations = {
  'test/e2e/argocd/flow.test.ts': 600,
  'test/e2e/argocd/sync.test.ts': 500,
  'test/e2e/kind/kubelet.test.ts': 400,
  'test/integration/docs/commands.test.ts': 340,
  'test/e2e/up.test.ts': 310,
  'test/integration/faults/matrix.test.ts': 290,
  'test/e2e/kind/hosted.test.ts': 290,
  'test/e2e/disaster/disaster.test.ts': 270,
  'test/integration/adapter/processes.test.ts': 200,
  'test/integration/docs/up.test.ts': 175,
  'test/integration/providers/cluster-api.test.ts': 160,
  'test/integration/adapter/exchanged-database.test.ts': 160,
  'test/integration/providers/answers.test.ts': 146,
  'test/e2e/fire/fire.test.ts': 140,
  'test/integration/providers/survives.test.ts': 140,
  'test/e2e/kind/up.test.ts': 134,
  'test/integration/agent/store.test.ts': 120,
  'test/integration/sentinel/acceptance.test.ts': 117,
  'test/e2e/kind/network-policies.test.ts': 113,
  'test/integration/security/nats-users.test.ts': 95,
  'test/integration/fleet/crashes.test.ts': 90,
  'test/integration/sentinel/processes.test.ts': 84,
  'test/integration/dashboard/browser.test.ts': 83,
  'test/integration/adapter/leftovers.test.ts': 83,
  'test/integration/client/quiet.test.ts': 76,
  'test/integration/delivery/memory.test.ts': 75,
  'test/integration/delivery/policies.test.ts': 73,
  'test/integration/hyperfleet-api/crash.test.ts': 73,
  'test/integration/operator/host.test.ts': 72,
  'test/integration/image/image.test.ts': 71,
  'hack/testing/run.test.ts': 31,
  'controllers/adapter/run/shared-objects.property.test.ts': 27,
  'controllers/adapter/run/waiting.test.ts': 17,
}

/** How long a file will take, in seconds: what it took the last time, else what it or files of its kind take. */
export const expectedSeconds = (file: string, durations: Durations): number =>
  durations[file] ?? LONG[file] ?? (SUITES.test(file) ? 60 : /^test\/(integration|conformance)\//.test(file) ? 15 : 0.5)
