/**
 * Pods that a workload waits for, and what Kubernetes says of them. Jobs and StatefulSets have no condition for a pod that was refused, or
 * that no node takes: an event of the workload tells the one, and the pod the other. CLUSTER-94.
 */
import type { JsonObject } from '../../task/task.ts'
import type { FailureReason } from '../task-error.ts'
import { isTerminating, kindOf, metadataOf } from './object.ts'

/** `creation`: there are fewer than there should be. `start`: one that there is is not ready. */
export type PodWait = 'creation' | 'start'

interface Workload {
  readonly spec?: { readonly replicas?: number; readonly suspend?: boolean }
  readonly status?: {
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[]
    readonly active?: number
    readonly ready?: number
    readonly replicas?: number
    readonly readyReplicas?: number
  }
}

/** Milliseconds in which the pods of a new workload are made, and find their volumes and a node. */
const CREATION_GRACE_MS = 10_000

/** @returns undefined: it waits for none, is new, or is of another kind */
export const awaitedPods = (object: JsonObject, now: Date): PodWait | undefined => {
  const { creationTimestamp = '' } = metadataOf(object)
  if (isTerminating(object) || !(now.getTime() - Date.parse(creationTimestamp) >= CREATION_GRACE_MS)) return undefined
  const { spec = {}, status = {} } = object as Workload
  switch (kindOf(object)) {
    case 'Job': {
      const ended = status.conditions?.some(
        ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
      )
      const { active = 0, ready = 0 } = status
      if (ended || spec.suspend) return undefined
      return active === 0 ? 'creation' : ready < active ? 'start' : undefined
    }
    case 'StatefulSet': {
      const { replicas: desired = 1 } = spec
      const { replicas = 0, readyReplicas = 0 } = status
      return replicas < desired ? 'creation' : readyReplicas < desired ? 'start' : undefined
    }
    default:
      return undefined
  }
}

/** Whether no watch tells when that changes: pods and events are not watched. A Job whose pod is at work says so itself. */
export const isPolled = (object: JsonObject, now: Date): boolean => {
  const wait = awaitedPods(object, now)
  return wait === 'creation' || (wait === 'start' && kindOf(object) === 'StatefulSet')
}

/** An event of the kind that a controller writes about an object of its own. */
export interface CreationEvent {
  readonly metadata: { readonly creationTimestamp?: string }
  readonly message?: string
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
}

/** What is read of a pod. */
export interface AwaitedPod {
  readonly metadata: { readonly name: string }
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
  }
}

/** Why there is no pod that runs: what a run fails with, and Kubernetes' words. */
export interface PodProblem {
  readonly reason: FailureReason
  readonly message: string
}

/** Milliseconds. A Job is tried again after ten minutes at most; an older event is of a time before. */
const MAX_EVENT_AGE_MS = 11 * 60_000

/** In the words of Kubernetes' admission of ResourceQuotas: it has no reason of its own. */
export const QUOTA_WORDS = 'exceeded quota: '

/** @param events `FailedCreate` of the workload @returns what the last one says, unless it is from a time before */
export const refusedPod = (events: readonly CreationEvent[], now: Date): PodProblem | undefined => {
  const [last] = events.toSorted((a, b) => happenedAt(b) - happenedAt(a))
  if (last === undefined || now.getTime() - happenedAt(last) > MAX_EVENT_AGE_MS) return undefined
  const { message = '' } = last
  return { reason: message.includes(QUOTA_WORDS) ? 'QuotaExceeded' : 'ApplyFailed', message }
}

const happenedAt = ({ lastTimestamp, eventTime, metadata }: CreationEvent): number =>
  Date.parse(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '') || 0

/** Of the first that no node takes. */
export const unscheduledPod = (pods: readonly AwaitedPod[]): PodProblem | undefined => {
  for (const { metadata, status } of pods) {
    const refused = status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
    if (refused !== undefined)
      return { reason: 'Unschedulable', message: `no node takes its pod ${metadata.name}: ${refused.message ?? ''}` }
  }
  return undefined
}
