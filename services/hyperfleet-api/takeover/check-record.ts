import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'
import { MAX_DOCUMENT_DEPTH } from '../model/document-depth.ts'
import type { Entity } from '../model/entity.ts'
import { parseTimestamp } from '../model/timestamp.ts'
import type { SourceRecord } from './source-record.ts'

/** Why a record can't be carried over as it is; undefined when it can (API-132). Each reason says what to do where that isn't plain. */
export const findObstacle = (record: SourceRecord, entity: Entity | undefined): string | undefined => {
  if (entity === undefined) return `its kind ${record.kind} is not configured: name it in --config`
  return (
    checkOwner(record, entity) ??
    checkReferences(record, entity) ??
    checkTexts(record) ??
    checkTimes(record) ??
    checkReports(record)
  )
}

/** The path of a record as its kind is configured. */
export const configuredHref = ({ id, owner_id, owner_href }: SourceRecord, entity: Entity): string => {
  const base =
    owner_id === null || entity.parent === undefined
      ? BASE_PATH
      : (owner_href ?? `${BASE_PATH}/${entity.parent.plural}/${owner_id}`)
  return `${base}/${entity.plural}/${id}`
}

const checkOwner = (record: SourceRecord, entity: Entity): string | undefined => {
  const { owner_id, owner_kind, href } = record
  if (entity.parent === undefined && owner_id !== null)
    return `it has an owner, ${owner_kind} ${owner_id}, and its kind is configured without parent_kind`
  if (entity.parent !== undefined && owner_id === null)
    return `it has no owner, and its kind is configured with parent_kind ${entity.parent.kind}`
  if (entity.parent !== undefined && entity.parent.kind !== owner_kind)
    return `its owner is a ${owner_kind}, and its kind is configured with parent_kind ${entity.parent.kind}`
  const configured = configuredHref(record, entity)
  if (href !== null && href !== configured)
    return `its path is ${href} and would be ${configured}: give its kind the plural that it had`
  return undefined
}

const checkReferences = ({ references }: SourceRecord, entity: Entity): string | undefined => {
  const unknown = references.find(({ type }) => !entity.references.some((rule) => rule.type === type))
  return unknown && `it has references of the type ${unknown.type}, which its kind is not configured with`
}

const checkTexts = ({ spec, labels, tenancy, reports }: SourceRecord): string | undefined => {
  if (!isObject(spec)) return 'its spec is no object'
  for (const [name, texts] of Object.entries({ labels, tenancy }))
    if (!isObject(texts) || Object.values(texts).some((text) => typeof text !== 'string'))
      return `its ${name} are no texts by key`
  return findUnstorable(spec, 'spec') ?? findUnstorable(reports, 'statuses')
}

const checkTimes = ({ created_time, updated_time, deleted_time, conditions, reports }: SourceRecord) => {
  const times: Record<string, unknown> = { created_time, updated_time, ...(deleted_time !== null && { deleted_time }) }
  for (const { type, created_time, last_updated_time, last_transition_time } of conditions)
    Object.assign(times, prefixed(`condition ${type}`, { created_time, last_updated_time, last_transition_time }))
  for (const { adapter, created_time, last_report_time } of reports)
    Object.assign(times, prefixed(`report of ${adapter}`, { created_time, last_report_time }))
  const [path, text] = Object.entries(times).find(([, each]) => !isTime(each)) ?? []
  return path && `${path} is no time of the calendar: ${JSON.stringify(text)}`
}

const prefixed = (prefix: string, fields: object): object =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [`${prefix}: ${key}`, value]))

const REPORTED: readonly unknown[] = ['True', 'False', 'Unknown']

const checkReports = ({ reports }: SourceRecord): string | undefined => {
  for (const { adapter, conditions, data, metadata } of reports) {
    const isRead =
      Array.isArray(conditions) &&
      conditions.every(
        (each) =>
          isObject(each) &&
          typeof each.type === 'string' &&
          REPORTED.includes(each.status) &&
          isTime(each.last_transition_time),
      )
    if (!isRead) return `the conditions of the report of ${adapter} can't be read`
    if (![data, metadata].every((part) => part === null || isObject(part)))
      return `data or metadata of the report of ${adapter} is no object`
  }
  return undefined
}

const isTime = (text: unknown): boolean => typeof text === 'string' && parseTimestamp(text) !== undefined

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What the API takes of no caller: numbers beyond doubles, keys that reach into prototypes, nesting without end. */
const findUnstorable = (value: unknown, path: string, depth = 0): string | undefined => {
  if (typeof value === 'number' && !Number.isFinite(value)) return `${path} is a number beyond doubles`
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === MAX_DOCUMENT_DEPTH) return `${path} is nested deeper than ${MAX_DOCUMENT_DEPTH} levels`
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') return `${path} has the key __proto__`
    const found = findUnstorable(inner, `${path}.${key}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
