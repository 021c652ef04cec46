/** A cluster as the HyperFleet API tells of it, judged: answers of other programs are not trusted. Times in milliseconds since the epoch. */

import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { isObject } from '#lib/json/is-object.ts'
import { REGISTRATION } from '../labels.ts'

export interface ClusterRecord {
  readonly id: string
  readonly href: string
  readonly name: string
  readonly generation: number
  readonly createdAt: number
  /** Its deletion was asked for. */
  readonly deleting: boolean
  readonly labels: Readonly<Record<string, string>>
  /** The ClusterDeployment that it was registered for, and by which id; undefined when it does not say. */
  readonly owner: Owner | undefined
  readonly registration: string | undefined
  /** Which try at its installation it asks for. */
  readonly attempt: number
  /** Of its spec without the install-config. */
  readonly specDigest: string
  /** Only of what was read for a change; the mirror keeps none. */
  readonly installConfig?: unknown
  readonly conditions: readonly RecordCondition[]
}

export interface Owner {
  readonly namespace: string
  readonly name: string
}

export const ownerOf = ({ metadata: { namespace = '', name } }: ClusterDeployment): Owner => ({ namespace, name })

export interface RecordCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
  readonly observedGeneration: number
}

/** The fields that `recordOf` reads, for a watch. */
export const RECORD_FIELDS = 'id,href,name,generation,created_time,deleted_time,labels,spec,status'

/** Undefined for what is no resource. */
export const recordOf = (item: unknown): ClusterRecord | undefined => {
  const resource = objectOf(item)
  const { id, href, name, generation, created_time: created, deleted_time: deleted } = resource
  if (typeof id !== 'string' || typeof href !== 'string' || typeof name !== 'string') return undefined
  if (typeof generation !== 'number') return undefined
  const labels = stringsOf(resource.labels)
  const { installConfig, ...spec } = objectOf(resource.spec)
  const { namespace, name: owner } = objectOf(spec.clusterDeployment)
  return {
    id,
    href,
    name,
    generation,
    createdAt: typeof created === 'string' ? Date.parse(created) : 0,
    deleting: typeof deleted === 'string',
    labels,
    owner: typeof namespace === 'string' && typeof owner === 'string' ? { namespace, name: owner } : undefined,
    registration: labels[REGISTRATION],
    attempt: typeof spec.installAttempt === 'number' ? spec.installAttempt : 1,
    specDigest: digestOf(spec),
    installConfig,
    conditions: conditionsOf(objectOf(resource.status).conditions),
  }
}

/** Of any JSON, whatever the order of its keys. */
export const digestOf = (value: unknown): string =>
  createHash('sha256')
    .update(canonicalize(value) ?? '')
    .digest('base64url')

/** The condition about the present generation; undefined when there is none. */
export const currentCondition = (record: ClusterRecord, type: string): RecordCondition | undefined =>
  record.conditions.find((condition) => condition.type === type && condition.observedGeneration === record.generation)

/** Every required adapter says that the present generation is there. */
export const isReady = (record: ClusterRecord): boolean =>
  !record.deleting && currentCondition(record, 'Ready')?.status === 'True'

/** What each required adapter said last is under a condition with this ending. */
export const ADAPTER_SUFFIX = 'Successful'

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  isObject(value) ? (value as Record<string, unknown>) : {}

const stringsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(objectOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )

const conditionsOf = (value: unknown): readonly RecordCondition[] =>
  (Array.isArray(value) ? value : []).map(objectOf).flatMap((condition) => {
    const { type, status, reason, message, observed_generation: observedGeneration } = condition
    if (typeof type !== 'string' || (status !== 'True' && status !== 'False')) return []
    if (typeof observedGeneration !== 'number') return []
    return [{ type, status, reason: textOf(reason), message: textOf(message), observedGeneration }]
  })

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
