import { checkLabels, checkName } from '../model/check-names.ts'
import { computeStatus, NEW_RESOURCE_INPUT } from '../model/compute-status.ts'
import { type Entity, hrefOf } from '../model/entity.ts'
import type { ReferenceDraft } from '../model/reference.ts'
import type { JsonObject, References, Resource } from '../model/resource.ts'
import { invalidField, Problem } from '../problems/problem.ts'
import { commitStep } from '../storage/commit-step.ts'
import { type Database, sqlState } from '../storage/database.ts'
import type { Writer } from '../storage/dialect.ts'
import { shareResource } from '../storage/resources.ts'
import { writeResource } from '../storage/write-resource.ts'
import type { Caller, MutationContext } from './context.ts'
import { lockReferences } from './lock-references.ts'

/** What a caller may say about a new resource. */
export interface Draft {
  readonly kind?: string
  readonly name: string
  readonly labels?: Readonly<Record<string, string>> | null
  readonly spec: JsonObject
  readonly references?: ReferenceDraft | null
}

/** Stores a new resource; a child under a parent that is not being deleted. @throws Problem */
export const createResource = async (
  { database, specs, newId, notifyCommitted }: MutationContext,
  entity: Entity,
  ownerId: string | undefined,
  draft: Draft,
  caller: Caller,
): Promise<Resource> => {
  checkKind(entity, draft)
  specs.check(entity.specSchema?.name, draft.spec)
  checkNames(entity, draft)
  const build = (others: NamedResources) => buildResource(entity, newId(), others, draft, caller)
  const createAlone = async (): Promise<Resource> => {
    const resource = build({ owner: undefined, references: undefined })
    await commitStep(database, { type: 'added', resource }, caller.time)
    return resource
  }
  const createBesideOthers = async (writer: Writer): Promise<Resource> => {
    const owner =
      ownerId === undefined ? undefined : await shareResource(writer, database, parentAddress(entity, ownerId, caller))
    if (owner?.deleted_time !== undefined)
      throw new Problem('conflict', `${owner.kind} '${owner.id}' is being deleted and takes no new ${entity.kind}`)
    const references = await lockReferences(writer, database, entity, draft.references ?? {}, caller.tenancy)
    const resource = build({ owner, references })
    await writeResource(writer, database.dialect, { type: 'added', resource }, caller.time)
    return resource
  }
  const namesOthers = ownerId !== undefined || entity.references.length > 0 || draft.references != null
  const creating =
    database.dialect === 'postgres' && !namesOthers ? createAlone() : database.transaction(createBesideOthers)
  const created = await creating.catch((error: unknown) => {
    if (isDuplicate(database, error))
      throw new Problem('duplicate', `This ${entity.kind} already exists: name '${draft.name}' is taken`)
    throw error
  })
  notifyCommitted()
  return created
}

/** What a new resource names: they are held until it is there. */
interface NamedResources {
  readonly owner: Resource | undefined
  readonly references: References | undefined
}

const buildResource = (
  entity: Entity,
  id: string,
  { owner, references }: NamedResources,
  draft: Draft,
  caller: Caller,
): Resource => {
  const { time, identity } = caller
  const labels = draft.labels ?? {}
  const resource = {
    id,
    kind: entity.kind,
    name: draft.name,
    href: hrefOf(entity, id, owner),
    ...(Object.keys(labels).length > 0 && { labels }),
    spec: draft.spec,
    ...(owner !== undefined && { owner_references: { id: owner.id, kind: owner.kind, href: owner.href } }),
    ...(references !== undefined && { references }),
    generation: 1,
    created_time: time,
    updated_time: time,
    created_by: identity,
    updated_by: identity,
    tenancy: owner?.tenancy ?? caller.tenancy ?? {},
  }
  return { ...resource, status: computeStatus(entity, resource, NEW_RESOURCE_INPUT) }
}

const checkKind = (entity: Entity, { kind }: Draft): void => {
  if (kind !== undefined && kind !== entity.kind) throw invalidField('kind', `must be '${entity.kind}'`)
}

const checkNames = (entity: Entity, { name, labels }: Draft): void => {
  const errors = [...checkName(name, entity.nameLength), ...checkLabels(labels ?? {})]
  const [first] = errors
  if (first !== undefined) throw new Problem('invalid', `${first.field} ${first.message}`, errors)
}

const parentAddress = ({ kind, parent }: Entity, id: string, { tenancy }: Caller) => {
  if (parent === undefined) throw new TypeError(`${kind} has no parent kind, so no route may name one`)
  return { entity: parent, id, tenancy }
}

/** The unique index on living names is the only one a new row can run into: its id is new. */
const isDuplicate = ({ dialect }: Database, error: unknown): boolean =>
  dialect === 'postgres'
    ? sqlState(error) === '23505'
    : error instanceof Error && error.message.startsWith('UNIQUE constraint failed')
