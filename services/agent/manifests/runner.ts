/**
 * Objects of a Kubernetes API server:
 *
 *   apply all ─► delete those that left the list ─► watch their health, and apply again what was deleted
 *
 * What is about to be applied is recorded first, so nothing is forgotten when the agent is killed. AGENT-13, AGENT-14.
 */
import { messageOf } from '#lib/errors/message-of.ts'
import { UnknownKindError } from '#operator/client/rest-mapper.ts'
import type { Clock } from '#operator/model/clock.ts'
import { formatDuration } from '#operator/model/duration.ts'
import type { Logger } from '#operator/model/log.ts'
import { retryDelay } from '../backoff.ts'
import { type Manifest, toManifests, workloadDigest } from '../workload.ts'
import type { LocalPlacement, ReportPhase, WorkloadRunner } from '../workload-runner.ts'
import { readApplied, writeApplied } from './applied-objects.ts'
import {
  findRemovedObjects,
  formatObjectName,
  nameOf,
  type ObjectName,
  sortForApply,
  summarizeObjects,
  union,
} from './objects.ts'
import { NoNamespaceError, type ObjectsApi } from './objects-api.ts'

/** How often objects are looked at while some are not ready, and while all are. */
const CHECK_INTERVAL = { waiting: '2s', ready: '15s' } as const

export interface ManifestRunnerOptions {
  readonly api: ObjectsApi
  readonly clock: Clock
  readonly log: Logger
}

export const manifestRunner = ({ api, clock, log }: ManifestRunnerOptions): WorkloadRunner => {
  const applyAll = async (
    placement: LocalPlacement,
    manifests: readonly Manifest[],
    digest: string,
    signal: AbortSignal,
  ) => {
    const before = await readApplied(placement)
    if (before.digest === digest) return
    const desired = manifests.map(nameOf)
    const all = union(before.objects, desired)
    await writeApplied(placement, { objects: all, digest: undefined })
    for (const manifest of manifests) await applyOne(placement, manifest, signal)
    for (const name of findRemovedObjects(all, desired)) await deleteAndWait(name, placement, signal)
    await writeApplied(placement, { objects: desired, digest })
    log.info('applied', { deployment: placement.deployment, objects: desired.length })
  }

  const applyOne = async (placement: LocalPlacement, manifest: Manifest, signal: AbortSignal): Promise<void> => {
    try {
      await api.apply(manifest, placement.deployment, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw new Error(`${formatObjectName(nameOf(manifest))} can't be applied: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Resolves when the object is gone, which takes as long as its finalizers do. */
  const deleteAndWait = async (name: ObjectName, placement: LocalPlacement, signal: AbortSignal): Promise<void> => {
    try {
      while (!(await api.remove(name, placement.deployment, signal))) {
        await clock.sleep('500ms', signal)
        signal.throwIfAborted()
      }
    } catch (error) {
      signal.throwIfAborted()
      // Its kind is gone, and with a kind go its objects; and an object without a namespace was never created.
      if (error instanceof UnknownKindError || error instanceof NoNamespaceError) return
      throw new Error(`${formatObjectName(name)} can't be deleted: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Resolves when the signal aborts. @throws what the API server fails with */
  const watch = async (
    placement: LocalPlacement,
    manifests: readonly Manifest[],
    report: ReportPhase,
    signal: AbortSignal,
  ) => {
    while (!signal.aborted) {
      const objects: object[] = []
      for (const manifest of manifests) {
        const found = await api.read(nameOf(manifest), signal)
        if (found === undefined) {
          log.warn('an object was deleted by another client: it is applied again', {
            object: formatObjectName(nameOf(manifest)),
          })
          await applyOne(placement, manifest, signal)
        }
        objects.push(found ?? { ...manifest, metadata: { ...manifest.metadata, generation: 1 } })
      }
      const { phase, message } = summarizeObjects(objects)
      report(phase, message)
      await clock.sleep(phase === 'Running' ? CHECK_INTERVAL.ready : CHECK_INTERVAL.waiting, signal)
    }
  }

  return {
    async run(placement, score, report, signal) {
      const manifests = sortForApply(toManifests(score))
      const digest = workloadDigest(score)
      const work = async (heard: ReportPhase) => {
        await applyAll(placement, manifests, digest, signal)
        await watch(placement, manifests, heard, signal)
      }
      await retryUntilDone(work, { clock, log }, report, signal)
    },
    remove: (placement, report, signal) =>
      retryUntilDone(
        async () => {
          const { objects } = await readApplied(placement)
          for (const name of objects.toReversed()) await deleteAndWait(name, placement, signal)
        },
        { clock, log },
        report,
        signal,
      ),
    async stop() {
      // Objects live in their cluster, also when the agent that applied them is gone.
    },
  }
}

/** Does it until it works or the signal aborts. */
const retryUntilDone = async (
  work: (report: ReportPhase) => Promise<void>,
  { clock, log }: Pick<ManifestRunnerOptions, 'clock' | 'log'>,
  report: ReportPhase,
  signal: AbortSignal,
): Promise<void> => {
  let failures = 0
  const heard: ReportPhase = (phase, message) => {
    if (phase === 'Running') failures = 0
    report(phase, message)
  }
  while (!signal.aborted) {
    try {
      return await work(heard)
    } catch (error) {
      if (signal.aborted) return
      failures += 1
      const wait = retryDelay(failures)
      log.warn('manifests could not be applied or deleted, trying again', {
        problem: messageOf(error),
        failures,
        wait,
      })
      report('Failed', `${messageOf(error)}; failure ${failures}, tried again in ${formatDuration(wait)}`)
      await clock.sleep(wait, signal)
    }
  }
}
