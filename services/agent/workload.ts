/** Workloads as this release can run them. The API server has checked them once; what comes over NATS is checked again. Pure. */

import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { type Score, WORKLOADS } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { isObject } from '#lib/json/is-object.ts'
import { toMilliseconds } from '#operator/model/duration.ts'

/** One Kubernetes object of a workload. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** A program of a workload. */
export interface Program {
  readonly command: readonly [string, ...(readonly string[])]
  readonly env: Readonly<Record<string, string>>
  readonly workingDirectory: string | undefined
  /** Milliseconds it may take to stop before it is killed. */
  readonly stopTimeout: number
}

/** Milliseconds that a program may take to stop when its score does not say. */
export const DEFAULT_STOP_TIMEOUT_MS = 10_000

const isText = (value: unknown): value is string => typeof value === 'string'
const isFilled = (value: unknown): value is string => isText(value) && value !== ''

const findManifestProblem = (manifest: unknown, index: number): string | undefined => {
  const at = `manifests[${index}]`
  if (!isObject(manifest)) return `${at} is no object`
  for (const field of ['apiVersion', 'kind']) if (!isFilled(manifest[field])) return `${at} has no ${field}`
  return isObject(manifest.metadata) && isFilled(manifest.metadata.name) ? undefined : `${at} has no metadata.name`
}

const findManifestsProblem = (manifests: unknown): string | undefined => {
  if (!Array.isArray(manifests) || manifests.length === 0)
    return 'data.manifests must be a list with at least one object'
  return manifests.map(findManifestProblem).find((problem) => problem !== undefined)
}

const findProgramProblem = ({ command, env, workingDirectory, stopTimeout }: Score['data']): string | undefined => {
  if (!Array.isArray(command) || !command.every(isText) || !isFilled(command[0]))
    return 'data.command must be a list of texts that begins with a program'
  if (env !== undefined && !(isObject(env) && Object.values(env).every(isText)))
    return 'data.env must be a map of texts'
  if (workingDirectory !== undefined && !isFilled(workingDirectory)) return 'data.workingDirectory must be a path'
  try {
    if (stopTimeout !== undefined) toMilliseconds(stopTimeout)
  } catch (error) {
    return `data.stopTimeout: ${(error as Error).message}`
  }
  return undefined
}

/** What keeps a workload from being run, as a sentence; undefined when nothing does. */
export const findWorkloadProblem = ({ type, data }: Score): string | undefined => {
  switch (type) {
    case 'KubernetesManifests':
      return findManifestsProblem(data.manifests)
    case 'Process':
      return findProgramProblem(data)
    default:
      return `this agent can't run workloads of the type ${JSON.stringify(type)}, only ${WORKLOADS.join(' and ')}: update it`
  }
}

/** Of a score without problems. */
export const toManifests = ({ data }: Score): readonly Manifest[] =>
  (data.manifests ?? []) as unknown as readonly Manifest[]

/** Of a score without problems. */
export const toProgram = ({ data }: Score): Program => ({
  command: data.command as unknown as Program['command'],
  env: data.env ?? {},
  workingDirectory: data.workingDirectory,
  stopTimeout: data.stopTimeout === undefined ? DEFAULT_STOP_TIMEOUT_MS : toMilliseconds(data.stopTimeout),
})

/** Equal for equal workloads. */
export const workloadDigest = (score: Score): string => digestOf(score)
