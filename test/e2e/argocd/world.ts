/** What the GitOps tests stand on: a git repository, a real Argo CD, a cluster, and the suite: here, or as pods in kind. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { vi } from 'vitest'
import { type ApplicationStatus, ARGO_NAMESPACE, clusterHere } from '#test/harness/argocd.ts'
import { type GitRepository, gitRepository } from '#test/harness/git.ts'
import { ground } from '#test/harness/ground/ground.ts'
import type { Ground, GroundProvider, GroundSuite } from '#test/harness/ground/provider.ts'
import type { SuiteOptions } from '#test/harness/suite.ts'

export const NAMESPACE = 'hyperfleet-system'

/** Argo CD looks at Git every few seconds, and several tests may keep the machine busy. */
export const PATIENCE = { timeout: 240_000, interval: 200 }

/** Milliseconds until the world stands: on kind its images are built and pulled. */
export const BEGINNING = 1_200_000

/** Seconds between two looks of Argo CD at Git: there is no webhook. */
const RESYNC = 3

export interface GitOpsWorld extends AsyncDisposable {
  readonly cluster: Ground['cluster']
  readonly argo: Ground['argo']
  readonly git: GitRepository
  /** Applies the one folder that a person applies, and waits until Argo CD has made the environment of the cluster. */
  install(): Promise<void>
  /** Starts managers and machines, and commits what has to be said of them. */
  suite(options: Pick<SuiteOptions, 'managers' | 'machines'>): Promise<GroundSuite>
  /** Commits folders of kustomize/declared as this checkout has them. */
  declare(message: string, ...names: readonly string[]): Promise<string>
  /** The same with folders of kustomize/tasks. */
  declareTasks(message: string, ...names: readonly string[]): Promise<string>
  /** Commits one replacement in one file. @throws Error when it changes nothing */
  edit(message: string, path: string, from: string | RegExp, to: string): Promise<string>
  /** Waits until the API server has what the commit says of the Application. */
  applied(application: string, commit: string): Promise<void>
  /** Waits until the Application is on this commit, synced and healthy; says how it stood when it never was. */
  healthy(application: string, commit?: string): Promise<void>
  application(name: string): Promise<ApplicationStatus | undefined>
}

/** Why this world can't be had here, and what would correct that; undefined when it can. */
export const worldMissing = (): Promise<string | undefined> => ground().missing()

/** Whether the containers of pods run in it. */
export const { containersRun } = ground()

/** The name of the only cluster, and its environment: the overlay whose pods need no volumes. */
const CLUSTER = 'here'
const ENVIRONMENT = 'dev'

/** The Application of that environment, and what it syncs. */
export const APPLICATION = `muster-${CLUSTER}`
export const OVERLAY = `kustomize/overlays/${ENVIRONMENT}`

/** The folder of an Application. */
const declaredIn = (name: string): string => `kustomize/declared/${ENVIRONMENT}/${name}`

/** The Application of such a folder. */
export const declared = (name: string): string => `${CLUSTER}-${name}`

const taskIn = (name: string): string => `kustomize/tasks/${ENVIRONMENT}/${name}`

/** The Application of a folder of kustomize/tasks. */
export const task = (name: string): string => `${CLUSTER}-task-${name}`

/** The path of a file in the folder of a task. */
export const inTask = (name: string, file: string): string => `${taskIn(name)}/${file}`

/** The path of a file in that folder. */
export const inDeclared = (name: string, file: string): string => `${declaredIn(name)}/${file}`

/** @param on where it stands; where `$MUSTER_GITOPS_ON` says when left out */
export const gitOpsWorld = async (on: GroundProvider = ground()): Promise<GitOpsWorld> => {
  const stack = new AsyncDisposableStack()
  try {
    const git = await gitRepository()
    await git.take('kustomize', 'manifests')
    const settings = { resync: RESYNC, overlay: OVERLAY, application: APPLICATION }
    const { cluster, repoURL, argo, suite } = stack.use(await on.start(git, settings))
    await cluster.rest('POST', `/api/v1/namespaces/${ARGO_NAMESPACE}/secrets`, clusterHere(ENVIRONMENT))

    await begin(git, repoURL)

    const application = (name: string) => argo.application(name)
    const world = stack.move()
    const healthy: GitOpsWorld['healthy'] = (name, commit) =>
      vi.waitFor(async () => {
        const status = await application(name)
        const { sync, health } = status ?? {}
        const isThere = commit === undefined || sync?.revision === commit
        if (sync?.status !== 'Synced' || health?.status !== 'Healthy' || !isThere)
          throw new Error(`${name} is not Synced and Healthy on ${commit ?? 'any commit'}: ${JSON.stringify(status)}`)
      }, PATIENCE)
    return {
      cluster,
      argo,
      git,
      application,
      healthy,
      declare: async (message, ...names) => {
        await git.take(...names.map(declaredIn))
        return git.commit(message)
      },
      declareTasks: async (message, ...names) => {
        await git.take(...names.map(taskIn))
        return git.commit(message)
      },
      edit: async (message, path, from, to) => {
        const file = await edited(git, path, [from, to])
        if (file[path] === (await git.read(path))) throw new Error(`${path} does not hold ${String(from)}`)
        return git.commit(message, file)
      },
      applied: (name, commit) =>
        vi.waitFor(async () => {
          const { sync } = (await application(name)) ?? {}
          if (sync?.status !== 'Synced' || sync.revision !== commit)
            throw new Error(`${name} is not Synced on ${commit}: ${JSON.stringify(await application(name))}`)
        }, PATIENCE),
      install: async () => {
        const folder = join(git.folder, 'kustomize/argocd')
        await cluster.kubectl('apply', '--server-side', '--force-conflicts', '--kustomize', folder)
        await healthy('muster')
        await healthy(APPLICATION)
      },
      suite,
      [Symbol.asyncDispose]: () => world.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

/** The first commit: this checkout as a fork has it, with nothing declared yet. */
const begin = async (git: GitRepository, repoURL: string): Promise<void> => {
  for (const folder of ['kustomize/declared', 'kustomize/tasks'])
    await rm(join(git.folder, folder), { recursive: true })
  await git.commit('Begin', {
    ...(await edited(git, 'kustomize/argocd/source.yaml', [/repoURL: .*/, `repoURL: ${repoURL}`])),
    ...(await edited(git, 'kustomize/argocd/declared.yaml', [/requeueAfterSeconds: .*/, 'requeueAfterSeconds: 2'])),
    ...(await edited(git, 'kustomize/argocd/tasks.yaml', [/requeueAfterSeconds: .*/, 'requeueAfterSeconds: 2'])),
  })
}

const edited = async (git: GitRepository, path: string, [from, to]: readonly [string | RegExp, string]) => ({
  [path]: (await git.read(path)).replace(from, to),
})
