import type { Tenancy } from '../auth/tenancy.ts'
import type { Entity } from '../model/entity.ts'
import { type ReferenceDraft, referenceErrors, resolveReferences, targetIds } from '../model/reference.ts'
import type { References } from '../model/resource.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from '../storage/database.ts'
import type { Writer } from '../storage/dialect.ts'
import { holdTargets } from '../storage/references.ts'

/** The references that a caller wants, with what they point at held as it is. @throws Problem invalid */
export const takeReferences = async (
  writer: Writer,
  database: Database,
  entity: Entity,
  draft: ReferenceDraft,
  tenancy: Tenancy | undefined,
): Promise<References | undefined> => {
  const targets = await holdTargets(writer, database, targetIds(draft), tenancy)
  const errors = referenceErrors(draft, entity.references, targets)
  const [first] = errors
  if (first !== undefined) throw new Problem('invalid', `${first.field} ${first.message}`, errors)
  return resolveReferences(draft, targets)
}
