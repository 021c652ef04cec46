import { Problem } from '../problems/problem.ts'
import { MAX_DOCUMENT_DEPTH } from './document-depth.ts'

/** `fields=a,b.c`: which parts of a resource an answer has, as a tree; `all` is a part with everything below it. */
export type Projection = 'all' | ReadonlyMap<string, Projection>

/** The fields a resource may have, and what is below those that aren't free-form. */
const FIELDS: Readonly<Record<string, 'value' | 'open' | readonly string[]>> = {
  id: 'value',
  kind: 'value',
  name: 'value',
  href: 'value',
  labels: 'open',
  spec: 'open',
  owner_references: ['id', 'kind', 'href'],
  references: 'open',
  generation: 'value',
  created_time: 'value',
  updated_time: 'value',
  deleted_time: 'value',
  deleted_at: 'value',
  created_by: 'value',
  updated_by: 'value',
  deleted_by: 'value',
  tenancy: 'open',
  status: ['phase', 'lastTransitionTime', 'conditions', 'awaited'],
}

const CONDITION_FIELDS = new Set([
  'type',
  'status',
  'reason',
  'message',
  'observed_generation',
  'created_time',
  'last_updated_time',
  'last_transition_time',
])

/** Reads `fields`; undefined when it asks for everything. The id is always among them. @throws Problem badRequest */
export const parseFields = (text: string | undefined): Projection | undefined => {
  const paths = (text ?? '').split(',').map((path) => path.trim())
  const requested = paths.filter((path) => path !== '').map(checkPath)
  return requested.length === 0 ? undefined : buildTree([['id'], ...requested])
}

/** The parts of a JSON value that were asked for; of a list, those of every item. */
export const project = (value: unknown, projection: Projection): unknown => {
  if (projection === 'all' || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => project(item, projection))
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const requested = projection.get(key)
      return requested === undefined ? [] : [[key, project(inner, requested)]]
    }),
  )
}

const buildTree = (paths: readonly (readonly string[])[]): Projection => {
  const below = Map.groupBy(paths, ([first]) => first)
  const tree = new Map<string, Projection>()
  for (const [first, rest] of below) {
    if (first === undefined) return 'all'
    tree.set(first, buildTree(rest.map((path) => path.slice(1))))
  }
  return tree
}

const checkPath = (path: string): readonly string[] => {
  const [first = '', ...rest] = path.split('.')
  const shape = Object.hasOwn(FIELDS, first) ? FIELDS[first] : undefined
  if (shape === undefined) throw unknownField(path)
  if (shape === 'open') {
    // A label's key has dots of its own: what follows the first is the key.
    if (first === 'spec' && rest.length > MAX_DOCUMENT_DEPTH) throw tooDeep(path)
    return first === 'spec' ? [first, ...rest] : [first, ...(rest.length > 0 ? [rest.join('.')] : [])]
  }
  if (shape === 'value') {
    if (rest.length > 0) throw unknownField(path)
    return [first]
  }
  const [second, third, ...deeper] = rest
  if (second === undefined || second === '*') return [first]
  if (!shape.includes(second) || deeper.length > 0) throw unknownField(path)
  if (third === undefined || third === '*') return [first, second]
  if (second !== 'conditions' || !CONDITION_FIELDS.has(third)) throw unknownField(path)
  return [first, second, third]
}

const tooDeep = (path: string): Problem =>
  new Problem(
    'badRequest',
    `fields: ${path.slice(0, 40)}… has more than ${MAX_DOCUMENT_DEPTH} steps, no document has`,
    [{ field: 'fields', message: 'is deeper than documents are' }],
  )

const unknownField = (path: string): Problem =>
  new Problem(
    'badRequest',
    `fields: a resource has no field '${path}'; write paths such as name,labels,status.conditions`,
  )
