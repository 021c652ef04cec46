/** Git, Argo CD, the whole suite, and the observer: what the day is lived on. */
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { dump, loadAll } from 'js-yaml'
import { NODE } from '#hack/cluster/local/node.ts'
import { ARGO_NAMESPACE, type ArgoOnCluster, clusterHere, startArgoOn } from '#test/harness/argocd.ts'
import { type GitRepository, gitRepository } from '#test/harness/git.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type Manifest, type Suite, type Supervised, startSuite } from '#test/harness/suite.ts'
import { type DeclaredPool, filesOf } from '#test/worlds/suite/declared.ts'
import { install } from '#test/worlds/suite/installer.ts'
import { type Observer, startObserver } from '#test/worlds/suite/observer/observer.ts'
import { type Timeline, timelineFrom } from '#test/worlds/suite/timeline.ts'
import type { Change } from './day.ts'

export const MACHINE = 'gate-1'

export interface FireWorld extends AsyncDisposable {
  readonly cluster: OwnControlPlane
  readonly argo: ArgoOnCluster
  readonly suite: Suite
  readonly observer: Observer
  readonly timeline: Timeline
  /** Commits what is declared of a pool; undefined removes its folder. */
  commit(message: string, pool: string, declared: DeclaredPool | undefined): Promise<void>
  /** Commits a day of changes, each at its time. @param ends the day before its time */
  live(day: readonly Change[], ends: () => boolean): Promise<void>
  /** Has Argo CD look at once at what Git declares. */
  tellArgo(): Promise<void>
  /** Processes that ended though they worked and were not killed. */
  endedAlone(): readonly string[]
  /** Events that adapters gave up, or have not taken yet. */
  givenUp(): Promise<readonly string[]>
  /** How everything is now, for people. */
  lastStates(): Promise<string>
}

const ENVIRONMENT = 'dev'

export const fireWorld = async (): Promise<FireWorld> => {
  await using stack = new AsyncDisposableStack()
  const timeline = timelineFrom()
  const parts = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const
  const cluster = stack.use(await startControlPlane({ parts }))
  await cluster.rest('POST', '/api/v1/nodes', NODE)
  const [argo, suite] = await Promise.all([
    startArgoOn(cluster).then((started) => stack.use(started)),
    startSuite({ cluster, database: 'postgres', machines: { [MACHINE]: 'example.com/role=gate' } }).then((started) =>
      stack.use(started),
    ),
  ])
  await install(suite, cluster)
  const git = await declaredInGit(suite)
  const observer = stack.use(
    await startObserver({
      kubeconfig: cluster.kubeconfig,
      natsUrl: suite.nats.url,
      call: suite.call,
      timeline,
      machines: [MACHINE],
    }),
  )
  const ending = new AbortController()
  const reviving = revive(argo, ending.signal)
  stack.defer(async () => {
    ending.abort()
    await reviving
  })
  const world = stack.move()
  const commit: FireWorld['commit'] = async (message, pool, declared) => {
    timeline.note(`commit: ${message}`)
    const path = (file: string) => `kustomize/declared/${ENVIRONMENT}/${pool}/${file}`
    await git.commit(message, filesOf(path, declared))
    await tellArgo(cluster)
  }
  return {
    cluster,
    argo,
    suite,
    observer,
    timeline,
    commit,
    live: async (day, ends) => {
      const begin = performance.now()
      for (const { at, message, pool, declared } of day) {
        await delay(Math.max(0, begin + at - performance.now()))
        if (ends()) return
        await commit(message, pool, declared)
      }
    },
    tellArgo: () => tellArgo(cluster),
    endedAlone: () =>
      [...suite.processes].flatMap(([name, process]) =>
        process
          .ends()
          .filter(({ killed, worked }) => worked && !killed)
          .map(({ at, how }) => `${name} ended by itself (${how}) at ${new Date(at).toISOString()}`),
      ),
    givenUp: async () => {
      const metrics = await (await fetch(suite.apiMetricsUrl)).text()
      return metrics.split('\n').filter((line) => DEAD_LETTERS.test(line) && !line.endsWith(' 0'))
    },
    lastStates: () => lastStates(cluster, suite),
    [Symbol.asyncDispose]: () => world.disposeAsync(),
  }
}

/**
 * A repository that Argo CD syncs what is declared from, and a cluster that it knows. The suite's own overlay is there already, so
 * only the second half of kustomize/argocd is applied: test/e2e/argocd has Argo CD sync the first.
 */
const declaredInGit = async (suite: Suite): Promise<GitRepository> => {
  const git = await gitRepository()
  await git.take('kustomize/argocd')
  // Argo CD looks again after three minutes at a repository without a commit.
  await git.commit('Begin')
  const read = (path: string) => readFile(`${git.folder}/kustomize/argocd/${path}`, 'utf8')
  const projects = loadAll(await read('projects.yaml')) as Manifest[]
  const [applications] = loadAll(await read('declared.yaml')) as Manifest[]
  const ours = [...projects, applications]
    .map((manifest) => dump(manifest))
    .join('---\n')
    .replaceAll(/(repoURL|sourceRepos:\n\s+-) *:? *from-source.yaml/g, (match) =>
      match.replace('from-source.yaml', git.url),
    )
    .replaceAll('from-source.yaml', 'main')
    .replace(/requeueAfterSeconds: \d+/, 'requeueAfterSeconds: 2')
  await suite.apply(loadAll(ours) as Manifest[])
  await suite.apply([clusterHere(ENVIRONMENT) as Manifest])
  return git
}

/** What a git server's webhook does: Argo CD looks at once. When it can't be told, it looks a little later by itself. */
const tellArgo = async (cluster: OwnControlPlane): Promise<void> => {
  const refresh = 'argocd.argoproj.io/application-set-refresh=true'
  const set = ['applicationset/muster-declared', `--namespace=${ARGO_NAMESPACE}`]
  await cluster.kubectl('annotate', ...set, refresh, '--overwrite', '--request-timeout=5s').catch(() => undefined)
}

/** What a kubelet does for Argo CD's pods. */
const revive = async (argo: ArgoOnCluster, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    for (const part of argo.ended()) await argo.restart(part).catch(() => undefined)
    await delay(500)
  }
}

/** What adapters have not taken, or gave up, by their consumer groups; the observer's own is its own business. */
const DEAD_LETTERS = /^hyperfleet_api_event_(queue_depth|dead_letters)\{(?!consumer="observer")/

/** Of Muster. */
export const MUSTER_KINDS =
  'clusterpools,clusterclaims,clusterdeployments,clusterdeploymentcustomizations,fleetdep,fleetdev,sentinelconfigs,adaptertasks'

const KINDS = `${MUSTER_KINDS},applications`

/** How many warnings and errors of each process are shown, the newest. */
const MAX_LINES = 6

/** How everything is now, for people. */
export const lastStates = async (cluster: OwnControlPlane, suite: Suite, kinds = KINDS): Promise<string> => {
  const tables = await cluster.kubectl('get', kinds, '--all-namespaces').catch(String)
  const records = await recordsOf(suite).catch(String)
  const processes = await Promise.all([...suite.processes].map(([name, process]) => wordsOf(name, process)))
  return [tables, 'HyperFleet API:', records, '', 'Processes, with their last warnings:', ...processes].join('\n')
}

interface ApiRecord {
  readonly name: string
  readonly id: string
  readonly generation: number
  readonly status: { readonly phase: string; readonly awaited?: readonly string[] }
}

const recordsOf = async (suite: Suite): Promise<string> => {
  const list = await suite.call<{ items: readonly ApiRecord[] }>('GET', '/api/hyperfleet/v1/clusters?size=100')
  return (list?.items ?? [])
    .map(({ name, id, generation, status: { phase, awaited = [] } }) => {
      const waits = awaited.length === 0 ? '' : `, waits for ${awaited.join(', ')}`
      return `  ${name} (${id}) is ${phase} at generation ${generation}${waits}`
    })
    .join('\n')
}

/** So much of each is shown, in characters. */
const MAX_LINE_CHARS = 300

const wordsOf = async (name: string, { logFile, ends }: Supervised): Promise<string> => {
  const lines = (await readFile(logFile, 'utf8')).split('\n')
  const bad = lines.filter((line) => /"level":"(warn|error)"|^muster:/.test(line))
  const alone = ends().filter(({ killed }) => !killed)
  const how = alone.length === 0 ? '' : `, ended by itself: ${alone.map((end) => end.how).join(', ')}`
  const title = `${name} (killed ${ends().length - alone.length} times${how})`
  return [title, ...bad.slice(-MAX_LINES).map((line) => line.slice(0, MAX_LINE_CHARS))].join('\n  ')
}
