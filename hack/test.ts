/**
 * `npm test`: the checks, then every test, on real servers that are built or installed when they are missing.
 * Arguments are vitest's (`npm test -- controllers/sentinel`, `npm test -- --project unit -t backoff`) and those of testing/arguments.ts.
 */
import { parseCLI } from 'vitest/node'
import { isDeep } from '#test/harness/deep.ts'
import { ARGOCD } from './argocd/binaries.ts'
import { CHROMIUM } from './chromium/missing.ts'
import { CLUSTER_API } from './cluster-api/binaries.ts'
import { CONTROL_PLANE, NEXT_KUBERNETES, NODE_KUBERNETES } from './controlplane/binaries.ts'
import { ensureInstalled } from './debian/install.ts'
import { DEBOOTSTRAP } from './debian/root.ts'
import { DOCKER } from './docker/missing.ts'
import { ensureBinaries } from './gobuild/build.ts'
import { IMAGE_PROGRAMS } from './image/local/images.ts'
import { NODE_PROGRAMS } from './kindnode/binaries.ts'
import { CALICO } from './kindnode/calico.ts'
import { ensureNodeImage, nodeImageMissing } from './kindnode/image.ts'
import { DELIVERED_NATS } from './nats/binaries.ts'
import { PODMAN } from './podman/missing.ts'
import { POSTGRES } from './postgres/missing.ts'
import { SetupError } from './process/errors.ts'
import { sweepFoldersOfTheDead } from './process/owners.ts'
import { PROMTOOL } from './prometheus/missing.ts'
import { REDIS } from './redis/missing.ts'
import { SYSTEMD } from './systemd/missing.ts'
import { parseTestArguments, USAGE, WHOLE_RUN } from './testing/arguments.ts'
import { auditDependencies } from './testing/audit.ts'
import { affectedTests, changedPaths } from './testing/changed.ts'
import { runChecks } from './testing/checks.ts'
import { announce, type Preparation } from './testing/preparation.ts'
import { describeProfile } from './testing/profile.ts'
import { runTests } from './testing/run.ts'
import { summary, total } from './testing/tally.ts'

const say = (line: string) => console.log(line)

const { help, profile, install, changedSince, minutes, rest } = parseTestArguments(process.argv.slice(2))
if (help) {
  say(USAGE)
  process.exit()
}
const { filter, options } = parseCLI(['vitest', 'run', ...rest])
const everything = rest.length === 0 && changedSince === undefined
if (everything) process.env[WHOLE_RUN] = 'yes'

const wants = (parts: RegExp): boolean => filter.length === 0 || filter.some((path) => parts.test(path))

/** Whether a Docker engine of its own and a kind cluster in it are needed. */
const onKind = wants(/kind|docker|conformance|argocd/)

/** Minutes of building that only the second part of a whole run needs: it is done beside the tests of the first. */
const laterBuilds: Preparation['builds'] = [
  ...(onKind
    ? [
        { set: NODE_KUBERNETES, seconds: 30 },
        { set: NODE_PROGRAMS, seconds: 120 },
        { set: CALICO, seconds: 100 },
        { set: DELIVERED_NATS, seconds: 40 },
      ]
    : []),
  ...(isDeep && wants(/kind/) ? [{ set: NEXT_KUBERNETES, seconds: 240 }] : []),
  ...(wants(/providers|cluster-api/) ? [{ set: CLUSTER_API, seconds: 140 }] : []),
]

/** Programs that tests need. Without Go the integration tests fail, each saying so; without PostgreSQL, Redis, Chromium, podman or Docker their tests skip. */
const preparation: Preparation = {
  builds: [{ set: CONTROL_PLANE, seconds: 340 }, ...(wants(/argocd|fire/) ? [{ set: ARGOCD, seconds: 220 }] : [])],
  installs: [
    POSTGRES,
    REDIS,
    CHROMIUM,
    PROMTOOL,
    SYSTEMD,
    ...PODMAN,
    ...(onKind ? [DOCKER, DEBOOTSTRAP, ...IMAGE_PROGRAMS] : []),
  ],
  install,
}

/** Says what went wrong; the names of what failed. */
const attempt = async (what: string, work: () => Promise<void>): Promise<readonly string[]> => {
  try {
    await work()
    return []
  } catch (error) {
    say(error instanceof SetupError ? error.message : String(error))
    return [what]
  }
}

const prepareServers = () =>
  attempt('preparing the test servers', async () => {
    for (const line of announce({ ...preparation, builds: [...preparation.builds, ...laterBuilds] })) say(line)
    await sweepFoldersOfTheDead()
    for (const { set } of preparation.builds) await ensureBinaries(set, say)
    if (install) await ensureInstalled(preparation.installs, say)
  })

const prepareSecondPart = () =>
  attempt('preparing the second part', async () => {
    for (const { set } of laterBuilds) await ensureBinaries(set, say)
    if (onKind && nodeImageMissing() === undefined) await ensureNodeImage(say)
  })

/** On a developer's machine a run asks nothing of the network. */
const auditInCi = async (): Promise<readonly string[]> => {
  if (process.env.CI !== 'true') return []
  const { state, says } = await auditDependencies()
  say(`${state === 'clean' ? '✓' : state === 'holes' ? '✗' : '-'} ${says} (npm audit)`)
  return state === 'holes' ? ['known holes in dependencies'] : []
}

const unprepared = [...(await prepareServers())]
const preparingSecondPart = prepareSecondPart()
const secondPartIsReady = async (): Promise<void> => void unprepared.push(...(await preparingSecondPart))
const failedChecks = [...(await runChecks(say)), ...(await auditInCi())]
const {
  tally: tests,
  unsteady,
  cost,
} = await runTests(
  {
    filter,
    options,
    parts: everything
      ? [{ projects: ['unit', 'integration', 'alone'] }, { projects: ['kind'], ready: secondPartIsReady }]
      : [{ projects: [], ready: secondPartIsReady }],
    // Two cores run hundreds of processes here, so a whole run gives what failed a second try; a run of named tests is to show that they fail.
    again: everything,
    ...(minutes !== undefined && { endsAt: minutes * 60_000 }),
    ...(changedSince !== undefined && {
      select: async (vitest, files) => {
        const chosen = await affectedTests(vitest, files, await changedPaths(changedSince))
        say(`What differs from ${changedSince} can affect ${chosen.length} of ${files.length} test files.`)
        return chosen
      },
    }),
  },
  say,
)
const tally = total([{ passed: 0, failed: [...unprepared, ...failedChecks], skipped: [] }, tests])
console.log()
if (profile || everything) for (const line of [...describeProfile(cost), '']) say(line)
for (const line of summary(tally, unsteady)) console.log(line)
// Tests that did not end in their time may still be there, and would keep it.
process.exit(tally.failed.length === 0 ? 0 : 1)
