import type { FieldError } from '../problems/problem.ts'
import type { ReferenceRule } from './entity.ts'
import type { ObjectReference, References } from './resource.ts'

/** References by type, as a caller writes them: the id counts, the rest is for the reader. */
export type ReferenceDraft = Readonly<Record<string, readonly TargetDraft[]>>

export interface TargetDraft {
  readonly id: string
  readonly kind?: string
}

/** A resource that is named, as it is at the moment. */
export interface Target extends ObjectReference {
  readonly isDeleting: boolean
}

/** The ids that a draft names, each once. */
export const listTargetIds = (draft: ReferenceDraft): readonly string[] => [
  ...new Set(Object.values(draft).flatMap((targets) => targets.map(({ id }) => id))),
]

/** Everything that is wrong with a set of references. `targets` are those of the named resources that are there. */
export const checkReferences = (
  draft: ReferenceDraft,
  rules: readonly ReferenceRule[],
  targets: ReadonlyMap<string, Target>,
): FieldError[] => [
  ...Object.keys(draft)
    .filter((type) => !rules.some((rule) => rule.type === type))
    .map((type) => ({ field: `references.${type}`, message: unknownType(rules) })),
  ...rules.flatMap((rule) => {
    const named = Object.hasOwn(draft, rule.type) ? (draft[rule.type] ?? []) : []
    return [...checkCount(rule, named.length), ...named.flatMap((_, at) => checkTarget(rule, named, at, targets))]
  }),
]

const unknownType = (rules: readonly ReferenceRule[]): string =>
  rules.length === 0
    ? 'is not possible: this kind has no references'
    : `is not known, write ${rules.map(({ type }) => type).join(', ')}`

const checkCount = ({ type, min, max }: ReferenceRule, count: number): FieldError[] => {
  const field = `references.${type}`
  if (count < min) return [{ field, message: `must name at least ${min}, names ${count}` }]
  if (count > max) return [{ field, message: `must name at most ${max}, names ${count}` }]
  return []
}

const checkTarget = (
  { type, targetKind }: ReferenceRule,
  named: readonly TargetDraft[],
  at: number,
  targets: ReadonlyMap<string, Target>,
): FieldError[] => {
  const { id, kind } = named[at] ?? { id: '' }
  const field = `references.${type}.${at}`
  const target = targets.get(id)
  if (named.findIndex((other) => other.id === id) < at) return [{ field, message: `names '${id}' twice` }]
  if (kind !== undefined && kind !== targetKind)
    return [{ field, message: `must be of kind ${targetKind}, not ${kind}` }]
  if (target === undefined) return [{ field, message: `names ${targetKind} '${id}', which is not there` }]
  if (target.kind !== targetKind)
    return [{ field, message: `must be of kind ${targetKind}, '${id}' is a ${target.kind}` }]
  if (target.isDeleting) return [{ field, message: `names ${targetKind} '${id}', which is being deleted` }]
  return []
}

/** References as they are stored and sent: without the types that name nothing; undefined when none names anything. */
export const resolveReferences = (
  draft: ReferenceDraft,
  targets: ReadonlyMap<string, Target>,
): References | undefined => {
  const resolved = Object.entries(draft)
    .map(([type, named]) => [type, named.flatMap(({ id }) => referenceTo(targets.get(id)))] as const)
    .filter(([, named]) => named.length > 0)
  return resolved.length === 0 ? undefined : Object.fromEntries(resolved)
}

const referenceTo = (target: Target | undefined): ObjectReference[] =>
  target === undefined ? [] : [{ id: target.id, kind: target.kind, href: target.href }]
