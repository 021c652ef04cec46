import { isDeepStrictEqual } from 'node:util'
import type { Break } from './break.ts'

/** A structural schema as it stands in a manifest. Kubernetes: apiextensions.k8s.io/v1 JSONSchemaProps. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly nullable?: boolean
  readonly default?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly 'x-kubernetes-validations'?: readonly Rule[]
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly [keyword: string]: unknown
}

interface Rule {
  readonly rule: string
  readonly optionalOldSelf?: boolean
}

/** Breaks of one value, but for its fields and items. */
type Check = (where: string, before: Schema, after: Schema) => readonly Break[]

const KEEP = 'keep what was, and add a field or a version beside it'

/** Kubernetes: how server-side apply merges lists and maps. */
const MERGING = ['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type'] as const
const LOWER_BOUNDS = ['minimum', 'minLength', 'minItems', 'minProperties'] as const
const UPPER_BOUNDS = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const

const isFree = (schema: Schema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true

const typeOf = (schema: Schema): string =>
  schema['x-kubernetes-int-or-string'] === true ? 'integer or string' : (schema.type ?? 'anything')

/** What takes every value that the other took. */
const isWider = (before: Schema, after: Schema): boolean => {
  const [was, is] = [typeOf(before), typeOf(after)]
  if (was === is || is === 'anything') return true
  return was === 'integer' && (is === 'number' || is === 'integer or string')
    ? true
    : was === 'string' && is === 'integer or string'
}

const type: Check = (where, before, after) => {
  const breaks: Break[] = []
  if (!isWider(before, after))
    breaks.push({
      where,
      what: `the type was ${typeOf(before)} and is ${typeOf(after)}: stored values are refused`,
      instead: KEEP,
    })
  if (isFree(before) && !isFree(after))
    breaks.push({
      where,
      what: 'unknown fields were kept and are dropped',
      instead: 'keep x-kubernetes-preserve-unknown-fields',
    })
  if (before.nullable === true && after.nullable !== true)
    breaks.push({ where, what: 'null was allowed and is not', instead: 'keep nullable' })
  return breaks
}

/** What a text must look like: any change may refuse what was taken. */
const form: Check = (where, before, after) =>
  (['pattern', 'format'] as const).flatMap((keyword) =>
    after[keyword] === undefined || after[keyword] === before[keyword]
      ? []
      : [
          {
            where,
            what: `the ${keyword} was ${before[keyword] ?? 'absent'} and is ${after[keyword]}: stored values may be refused`,
            instead: 'look at the value in the controller, and say in a condition what is wrong',
          },
        ],
  )

const choices: Check = (where, before, after) => {
  if (after.enum === undefined) return []
  const instead = 'keep the value, and say in a condition that it is no longer used'
  if (before.enum === undefined)
    return [{ where, what: `any value was allowed, and now only ${after.enum.join(', ')}`, instead }]
  const gone = before.enum.filter((value) => !after.enum?.includes(value))
  return gone.length === 0 ? [] : [{ where, what: `${gone.join(', ')} was allowed and is not`, instead }]
}

const bounds: Check = (where, before, after) => {
  const narrowed = (keyword: string, isNarrower: (was: number, is: number) => boolean): readonly Break[] => {
    const [was, is] = [before[keyword], after[keyword]]
    if (typeof is !== 'number' || (typeof was === 'number' && !isNarrower(was, is))) return []
    const what = `${keyword} was ${typeof was === 'number' ? was : 'absent'} and is ${is}: stored values may be refused`
    return [{ where, what, instead: 'keep the wider bound, and look at the value in the controller' }]
  }
  return [
    ...LOWER_BOUNDS.flatMap((keyword) => narrowed(keyword, (was, is) => is > was)),
    ...UPPER_BOUNDS.flatMap((keyword) => narrowed(keyword, (was, is) => is < was)),
  ]
}

/** A value for people. */
const stated = (value: unknown): string => (value === undefined ? 'absent' : JSON.stringify(value))

const merging: Check = (where, before, after) =>
  MERGING.flatMap((keyword) =>
    isDeepStrictEqual(before[keyword], after[keyword])
      ? []
      : [
          {
            where,
            what: `${keyword} was ${stated(before[keyword])} and is ${stated(after[keyword])}: appliers own other things`,
            instead: KEEP,
          },
        ],
  )

const defaults: Check = (where, before, after) =>
  before.default === undefined || isDeepStrictEqual(before.default, after.default)
    ? []
    : [
        {
          where,
          what: `the default was ${stated(before.default)} and is ${stated(after.default)}: the same manifest means something else`,
          instead: 'keep the default',
        },
      ]

/**
 * A rule that looks back at the old value and may find none holds only for what changes: stored objects stay valid.
 * Whether another new rule refuses anything can't be told from its text.
 */
const rules: Check = (where, before, after) => {
  const known = before['x-kubernetes-validations'] ?? []
  return (after['x-kubernetes-validations'] ?? []).flatMap(({ rule, optionalOldSelf }) => {
    if (known.some((old) => old.rule === rule)) return []
    if (optionalOldSelf === true && rule.includes('oldSelf')) return []
    const what = `the rule ${rule} is new: objects that were valid may be refused`
    return [
      {
        where,
        what,
        instead: 'set optionalOldSelf and let what oldSelf already had pass, or look at it in the controller',
      },
    ]
  })
}

const required: Check = (where, before, after) =>
  (after.required ?? []).flatMap((name) =>
    before.required?.includes(name) || after.properties?.[name]?.default !== undefined
      ? []
      : [
          {
            where: `${where}.${name}`,
            what: 'it is required and was not: objects without it are refused, and so is what an older controller writes',
            instead: 'make it optional, or give it a default',
          },
        ],
  )

const CHECKS: readonly Check[] = [type, form, choices, bounds, merging, defaults, rules, required]

/** Every place where objects that the schema before took would be refused, lose something or mean something else. */
export const schemaBreaks: Check = (where, before, after) => [
  ...CHECKS.flatMap((check) => check(where, before, after)),
  ...fields(where, before, after),
  ...(before.items === undefined ? [] : below(`${where}[]`, before.items, after.items, after)),
  ...values(where, before, after),
]

const fields: Check = (where, before, after) =>
  Object.entries(before.properties ?? {}).flatMap(([name, schema]) =>
    below(`${where}.${name}`, schema, after.properties?.[name] ?? mapValue(after), after),
  )

const values: Check = (where, before, after) => {
  const schema = mapValue(before)
  return schema === undefined ? [] : below(`${where}.*`, schema, mapValue(after), after)
}

/** The schema of the values of a map. */
const mapValue = ({ additionalProperties }: Schema): Schema | undefined =>
  typeof additionalProperties === 'object' ? additionalProperties : additionalProperties === true ? {} : undefined

/** @param parent keeps what has no schema any more when it is free, or of no type at all */
const below = (where: string, before: Schema, after: Schema | undefined, parent: Schema): readonly Break[] => {
  if (after !== undefined) return schemaBreaks(where, before, after)
  if (isFree(parent)) return []
  const instead = 'keep it, and say in its description that it is no longer used'
  return [{ where, what: 'it was removed: what is stored there is dropped at the next write', instead }]
}
