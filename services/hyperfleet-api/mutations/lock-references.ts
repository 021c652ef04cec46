import type { Tenancy } from '../auth/tenancy.ts'
import type { Entity } from '../model/entity.ts'
import { checkReferences, listTargetIds, type ReferenceDraft, resolveReferences } from '../model/reference.ts'
import type { References } from '../model/resource.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from '../storage/database.ts'
import type { Writer } from '../storage/dialect.ts'
import { lockTargets } from '../storage/references.ts'

/** The references that a caller wants, with what they point at held as it is. @throws Problem invalid */
export const lockReferences = async (
  writer: Writer,
  database: Database,
  entity: Entity,
  draft: ReferenceDraft,
  tenancy: Tenancy | undefined,
): Promise<References | undefined> => {
  const targets = await lockTargets(writer, database, listTargetIds(draft), tenancy)
  const errors = checkReferences(draft, entity.references, targets)
  const [first] = errors
  if (first !== undefined) throw new Problem('invalid', `${first.field} ${first.message}`, errors)
  return resolveReferences(draft, targets)
}
