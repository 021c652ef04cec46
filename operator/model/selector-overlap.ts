import type { Labels, Requirement, Selector } from './selector.ts'

/**
 * Can an object match both selectors? Exact, not a guess: requirements on different keys are independent, and for one
 * key the allowed values are a finite set or all values but a finite set.
 * @returns labels that match both, as a witness to show; undefined when the selectors are disjoint
 */
export const overlap = (a: Selector, b: Selector): Labels | undefined => {
  const witness: Record<string, string> = {}
  for (const [key, requirements] of Map.groupBy([...a, ...b], (one) => one.key)) {
    const allowed = requirements.map(allowedBy).reduce(both)
    const value = choose(allowed)
    if (value !== undefined) witness[key] = value
    else if (!allowed.absent) return undefined
  }
  return witness
}

/** What a label may be: whether it may be absent, and which values it may have. */
interface Allowed {
  readonly absent: boolean
  readonly values: { readonly only: ReadonlySet<string> } | { readonly allBut: ReadonlySet<string> }
}

const NONE: ReadonlySet<string> = new Set()

const allowedBy = (requirement: Requirement): Allowed => {
  switch (requirement.operator) {
    case 'In':
      return { absent: false, values: { only: new Set(requirement.values) } }
    case 'NotIn':
      return { absent: true, values: { allBut: new Set(requirement.values) } }
    case 'Exists':
      return { absent: false, values: { allBut: NONE } }
    case 'DoesNotExist':
      return { absent: true, values: { only: NONE } }
  }
}

const both = (a: Allowed, b: Allowed): Allowed => ({
  absent: a.absent && b.absent,
  values: intersection(a.values, b.values),
})

const intersection = (a: Allowed['values'], b: Allowed['values']): Allowed['values'] => {
  if ('only' in a) return { only: 'only' in b ? a.only.intersection(b.only) : a.only.difference(b.allBut) }
  if ('only' in b) return { only: b.only.difference(a.allBut) }
  return { allBut: a.allBut.union(b.allBut) }
}

/** A value that shows the overlap; undefined when the label is better left out or has to be. */
const choose = ({ absent, values }: Allowed): string | undefined => {
  if ('only' in values) return values.only.values().next().value
  return absent ? undefined : unusedValue(values.allBut)
}

/** Label values are finite in theory, 63 characters long, but far too many to list. */
const unusedValue = (used: ReadonlySet<string>): string => {
  let number = 0
  while (used.has(`any-${number}`)) number += 1
  return used.size === 0 ? 'any' : `any-${number}`
}
