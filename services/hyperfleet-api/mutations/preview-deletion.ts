import { awaitedAdapters } from '../model/deletion-gate.ts'
import type { Entity } from '../model/entity.ts'
import type { ObjectReference, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import { findReferrer } from '../storage/references.ts'
import { type Address, parseDocument, readChildren, readDocument } from '../storage/resources.ts'
import { readStatuses } from '../storage/statuses.ts'
import { listTakingGroups } from '../storage/unfinished-runs.ts'
import type { Precondition } from './context.ts'
import { isRestricting } from './delete.ts'

/** What a deletion would do, without doing it (API-54). The rules are those of delete.ts. */
export interface DeletionPreview {
  readonly dry_run: true
  /** Whether it would be refused. */
  readonly blocked: boolean
  /** What it would mark, each before what is below it. */
  readonly resources: readonly PreviewedDeletion[]
}

export interface PreviewedDeletion extends ObjectReference {
  readonly name: string
  /** 0 for the resource itself. */
  readonly depth: number
  /** It is in deletion already. */
  readonly deleting: boolean
  readonly awaited: readonly string[]
  readonly awaited_groups: readonly string[]
  readonly blocked_by: readonly DeletionBlocker[]
}

interface DeletionBlocker extends ObjectReference {
  readonly name: string
  readonly why: 'Restricted' | 'Referenced'
}

/** @throws Problem notFound */
export const previewDeletion = async (
  { kysely }: Pick<Database, 'kysely'>,
  address: Address,
  time: Timestamp,
  precondition?: Precondition<Resource>,
): Promise<DeletionPreview> => {
  const family = parseDocument(await readDocument(kysely, address))
  precondition?.(family)
  const visit = async (entity: Entity, resource: Resource, depth: number): Promise<PreviewedDeletion[]> => {
    const children = entity.children.length === 0 ? [] : await readChildren(kysely, resource.id)
    const deleting = resource.deleted_time !== undefined
    const marked = deleting ? resource : { ...resource, generation: resource.generation + 1, deleted_time: time }
    const { id, kind, name, href } = resource
    const previewed: PreviewedDeletion = {
      id,
      kind,
      name,
      href,
      depth,
      deleting,
      awaited: awaitedAdapters(marked, await readStatuses(kysely, id), entity.requiredAdapters),
      awaited_groups: await listTakingGroups(kysely, marked),
      blocked_by: deleting ? [] : [...restrictedBy(entity, children), ...(await referencedBy(resource))],
    }
    const below: PreviewedDeletion[] = []
    for (const child of children) {
      const kindOfChild = entity.children.find((one) => one.kind === child.kind)
      if (kindOfChild !== undefined) below.push(...(await visit(kindOfChild, child, depth + 1)))
    }
    return [previewed, ...below]
  }
  const referencedBy = async (resource: Resource): Promise<DeletionBlocker[]> => {
    const referrer = await findReferrer(kysely, resource, family)
    return referrer === undefined ? [] : [toBlocker(referrer, 'Referenced')]
  }
  const resources = await visit(address.entity, family, 0)
  return { dry_run: true, blocked: resources.some(({ blocked_by }) => blocked_by.length > 0), resources }
}

/** Living children of kinds that forbid the deletion of their parent. */
const restrictedBy = (entity: Entity, children: readonly Resource[]): DeletionBlocker[] =>
  children.filter((child) => isRestricting(entity, child)).map((child) => toBlocker(child, 'Restricted'))

const toBlocker = (
  { id, kind, name, href }: ObjectReference & { readonly name: string },
  why: DeletionBlocker['why'],
): DeletionBlocker => ({ kind, id, name, href, why })
