/**
 * Objects of a Kubernetes API server:
 *
 *   apply all ─► delete those that left the list ─► look how they do, and apply again what somebody deleted
 *
 * What was applied is written down before it is applied, so nothing is forgotten when the agent is killed in between.
 */
import { join } from 'node:path'
import { canonicalText } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { messageOf } from '#operator/client/errors.ts'
import { UnknownKindError } from '#operator/client/rest-mapper.ts'
import type { Clock } from '#operator/model/clock.ts'
import { formatDuration } from '#operator/model/duration.ts'
import type { Logger } from '#operator/model/log.ts'
import { backoff } from '../backoff.ts'
import { readIfThere, replaceFile } from '../placement-store.ts'
import { type Manifest, manifestsOf, scoreDigest } from '../workload.ts'
import type { Place, Report, Runner } from '../workload-runner.ts'
import { described, inOrder, leavers, nameOf, type ObjectName, phaseOf, union } from './objects.ts'
import { NoNamespaceError, type ObjectsApi } from './objects-api.ts'

/** How often objects are looked at while some are not ready, and while all are. */
const LOOK = { waiting: '2s', ready: '15s' } as const

/** What was applied, and what may have been. */
export interface Applied {
  readonly objects: readonly ObjectName[]
  /** Of the score of which all was applied, and nothing else is left; undefined while that is under way. */
  readonly digest: string | undefined
}

export interface ManifestRunnerOptions {
  readonly api: ObjectsApi
  readonly clock: Clock
  readonly log: Logger
}

export const manifestRunner = ({ api, clock, log }: ManifestRunnerOptions): Runner => {
  const write = ({ folder }: Place, applied: Applied): Promise<void> =>
    replaceFile(fileIn(folder), canonicalText(applied))

  const bringAbout = async (place: Place, manifests: readonly Manifest[], digest: string, signal: AbortSignal) => {
    const before = await readApplied(place)
    if (before.digest === digest) return
    const wanted = manifests.map(nameOf)
    const all = union(before.objects, wanted)
    await write(place, { objects: all, digest: undefined })
    for (const manifest of manifests) await applyOne(place, manifest, signal)
    for (const name of leavers(all, wanted)) await gone(name, place, signal)
    await write(place, { objects: wanted, digest })
    log.info('applied', { deployment: place.deployment, objects: wanted.length })
  }

  const applyOne = async (place: Place, manifest: Manifest, signal: AbortSignal): Promise<void> => {
    try {
      await api.apply(manifest, place.deployment, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw new Error(`${described(nameOf(manifest))} can't be applied: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Resolves when the object is gone, which takes as long as its finalizers do. */
  const gone = async (name: ObjectName, place: Place, signal: AbortSignal): Promise<void> => {
    try {
      while (!(await api.remove(name, place.deployment, signal))) {
        await clock.sleep('500ms', signal)
        signal.throwIfAborted()
      }
    } catch (error) {
      signal.throwIfAborted()
      // Its kind is gone, and with a kind go its objects; and what has no place was never there.
      if (error instanceof UnknownKindError || error instanceof NoNamespaceError) return
      throw new Error(`${described(name)} can't be deleted: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Resolves when the signal aborts. @throws what the API server fails with */
  const watch = async (place: Place, manifests: readonly Manifest[], report: Report, signal: AbortSignal) => {
    while (!signal.aborted) {
      const objects: object[] = []
      for (const manifest of manifests) {
        const found = await api.read(nameOf(manifest), signal)
        if (found === undefined) {
          log.warn('somebody deleted an object: it is applied again', { object: described(nameOf(manifest)) })
          await applyOne(place, manifest, signal)
        }
        objects.push(found ?? { ...manifest, metadata: { ...manifest.metadata, generation: 1 } })
      }
      const { phase, message } = phaseOf(objects)
      report(phase, message)
      await clock.sleep(phase === 'Running' ? LOOK.ready : LOOK.waiting, signal)
    }
  }

  /** Does it until it works or the signal aborts. */
  const insist = async (
    work: (report: Report) => Promise<void>,
    report: Report,
    signal: AbortSignal,
  ): Promise<void> => {
    let failures = 0
    const heard: Report = (phase, message) => {
      if (phase === 'Running') failures = 0
      report(phase, message)
    }
    while (!signal.aborted) {
      try {
        return await work(heard)
      } catch (error) {
        if (signal.aborted) return
        failures += 1
        const wait = backoff(failures)
        log.warn('it is tried again', { problem: messageOf(error), failures, wait })
        report('Failed', `${messageOf(error)}; failure ${failures}, tried again in ${formatDuration(wait)}`)
        await clock.sleep(wait, signal)
      }
    }
  }

  return {
    async tend(place, score, report, signal) {
      const manifests = inOrder(manifestsOf(score))
      const digest = scoreDigest(score)
      const work = async (heard: Report) => {
        await bringAbout(place, manifests, digest, signal)
        await watch(place, manifests, heard, signal)
      }
      await insist(work, report, signal)
    },
    remove: (place, report, signal) =>
      insist(
        async () => {
          const { objects } = await readApplied(place)
          for (const name of objects.toReversed()) await gone(name, place, signal)
        },
        report,
        signal,
      ),
    async halt() {
      // Objects live in their cluster, whoever applied them.
    },
  }
}

/** What the place has on its cluster. @throws Error when nobody can read it any more: forgotten objects would stay for ever */
export const readApplied = async ({ folder, deployment }: Place): Promise<Applied> => {
  const file = fileIn(folder)
  const bytes = await readIfThere(file)
  if (bytes === undefined) return { objects: [], digest: undefined }
  try {
    return JSON.parse(bytes.toString()) as Applied
  } catch (error) {
    const mend = `remove it, and by hand what ${deployment} does not list any more`
    throw new Error(`${file} is spoilt, so it is not known what was applied: ${mend}`, { cause: error })
  }
}

const fileIn = (folder: string): string => join(folder, 'applied.json')
