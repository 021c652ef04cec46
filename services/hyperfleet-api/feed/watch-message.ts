import { isDeepStrictEqual } from 'node:util'
import { matches, type Selector } from '#operator/model/selector.ts'
import type { Tenancy } from '../auth/tenancy.ts'
import { type Projection, project } from '../model/projection.ts'
import type { Change } from './changes.ts'

/** What one watch stream is about. */
export interface Subscription {
  readonly kind: string
  readonly ownerId?: string
  /** The tenant; every tenant's when undefined. */
  readonly tenancy?: Tenancy | undefined
  readonly selector: Selector
  /** `fields` as it was asked for. */
  readonly fields: string | undefined
  readonly projection: Projection | undefined
  /** How a version is written for its reader. */
  readonly position: (version: number) => string
}

export type MessageType = 'added' | 'modified' | 'deleted'

/**
 * What a change is to a watcher, or nothing (API-39). To a watcher of a selection, entering it is being added and leaving it
 * is being deleted, whatever the change was to the resource itself.
 */
export const messageType = (
  change: Change,
  { kind, ownerId, tenancy, selector }: Subscription,
): MessageType | undefined => {
  if (change.kind !== kind || (ownerId !== undefined && change.ownerId !== ownerId)) return undefined
  if (tenancy !== undefined && !isDeepStrictEqual(tenancyOfChange(change), tenancy)) return undefined
  const was = change.type !== 'added' && matches(selector, change.labelsBefore)
  const is = change.type !== 'deleted' && matches(selector, change.labels)
  if (was && is) return 'modified'
  if (is) return 'added'
  return was ? 'deleted' : undefined
}

const tenancies = new WeakMap<Change, Tenancy>()

/** Read once, and only where there are tenants: it is within the document. */
const tenancyOfChange = (change: Change): Tenancy => {
  const tenancy = tenancies.get(change) ?? (JSON.parse(change.document) as { tenancy: Tenancy }).tenancy
  tenancies.set(change, tenancy)
  return tenancy
}

/** One server-sent event: the type, the position as id, the resource as data. Without one the reader's position stays. */
export const formatMessage = (type: string, position: string | undefined, data: string): string =>
  `event: ${type}\n${position === undefined ? '' : `id: ${position}\n`}data: ${data}\n\n`

/** The bytes of a change, as a stream tells it. */
export const formatChange = (change: Change, type: MessageType, { projection, position }: Subscription): Buffer =>
  Buffer.from(formatMessage(type, position(change.version), projectDocument(change.document, projection)))

/** A wire document, or the parts of it that were asked for, as JSON. */
export const projectDocument = (document: string, projection: Projection | undefined): string =>
  projection === undefined ? document : JSON.stringify(project(JSON.parse(document), projection))
