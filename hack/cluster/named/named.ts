import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Say } from '../../cache/make-once.ts'
import { CONTROL_PLANE } from '../../controlplane/binaries.ts'
import { ensureBinaries } from '../../gobuild/build.ts'
import { signalGroup } from '../../process/child.ts'
import { type Identity, identify, isRunning } from '../../process/identity.ts'
import { takeLock } from '../../process/lock.ts'
import { kubectl } from '../kubectl.ts'
import { startLocalControlPlane } from '../local/controlplane.ts'
import { applyNode } from '../local/node.ts'
import { deadParts, layoutOfCluster, readState, removeState, type State, stateFolder, writeState } from './state.ts'

/** Local clusters that live until they are stopped, each with a name, for people who work with one for hours. */

export type ClusterPhase = 'running' | 'broken' | 'absent'

/** The one that is meant when no name is given. */
export const DEFAULT_NAME = 'dev'

/** How a cluster is, and what is remembered of it. */
export const readClusterState = async (
  name: string,
): Promise<{ phase: ClusterPhase; state?: State; dead: readonly string[] }> => {
  const state = await readState(layoutOfCluster(name))
  if (state === undefined) return { phase: 'absent', dead: [] }
  const dead = await deadParts(state)
  return { phase: state.complete && dead.length === 0 ? 'running' : 'broken', state, dead }
}

/** Starts it, or says that it runs already. What is left of a broken one is stopped first; its data stays. */
export const startNamed = (name: string, say: Say, signal: AbortSignal): Promise<'started' | 'already running'> =>
  exclusively(async () => {
    const { phase, state } = await readClusterState(name)
    if (phase === 'running') return 'already running'
    if (state !== undefined) {
      say(`Cleaning up what is left of "${name}" …`)
      await stopProcesses(state)
    }
    const layout = layoutOfCluster(name)
    const binaries = await ensureBinaries(CONTROL_PLANE, say, signal)
    say(`Starting "${name}" …`)
    let remembered: State = { server: '', binaries, processes: [], complete: false }
    try {
      const controlPlane = await startLocalControlPlane({
        binaries,
        folder: layout.folder,
        guarded: false,
        signal,
        onStarted: async (part, pid) => {
          const identity = await identify(pid)
          if (identity === undefined) return
          remembered = { ...remembered, processes: [...remembered.processes, { part, ...identity }] }
          await writeState(layout, remembered)
        },
      })
      await applyNode(kubectl(join(binaries, 'kubectl'), [`--kubeconfig=${controlPlane.kubeconfig}`]))
      await writeState(layout, { ...remembered, server: controlPlane.server, complete: true })
    } catch (error) {
      await stopProcesses(remembered)
      throw error
    }
    return 'started'
  })

/** Ends it and removes its data. */
export const stopNamed = (name: string): Promise<'stopped' | 'not running'> =>
  exclusively(async () => {
    const layout = layoutOfCluster(name)
    const state = await readState(layout)
    if (state === undefined) return 'not running'
    await stopProcesses(state)
    await removeState(layout)
    return 'stopped'
  })

/** Two commands at once take turns. */
const exclusively = async <T>(work: () => Promise<T>): Promise<T> => {
  const folder = join(stateFolder(), 'clusters')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const release = await takeLock(join(folder, '..', 'clusters.lock'), {
    onLost: () =>
      console.error(
        'The clock was set or the machine slept: another command may start or stop clusters at the same time',
      ),
  })
  try {
    return await work()
  } finally {
    await release()
  }
}

/** The last one that was started first. Only processes that are still the ones we started get a signal. */
const stopProcesses = async ({ processes }: State): Promise<void> => {
  for (const process of processes.toReversed()) await stopProcess(process)
}

const GRACE = 10_000

const stopProcess = async (identity: Identity): Promise<void> => {
  const killAt = performance.now() + GRACE
  if (await isRunning(identity)) signalGroup(identity.pid, 'SIGTERM')
  while (await isRunning(identity)) {
    if (performance.now() > killAt) signalGroup(identity.pid, 'SIGKILL')
    await delay(50)
  }
}
