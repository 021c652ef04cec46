/** Fields of files of a dry run that nothing knows: the API server, or the run, would leave them out without a word. ADAPTER-137. */
import type { TaskProblem } from '#controllers/adapter/task/task-problems.ts'
import { isObject } from '#lib/json/is-object.ts'
import { schemaOf } from '../crds/crds.ts'

/** A structural schema, as far as it is read here. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

/** Fields of the spec of an AdapterTask that it does not have; none of a document that is another one. */
export const unknownTaskFields = (document: unknown): readonly TaskProblem[] => {
  if (!isObject(document) || document.kind !== 'AdapterTask') return []
  const { properties } = schemaOf('AdapterTask') as Schema
  return properties?.spec === undefined ? [] : unknownIn(document.spec, properties.spec, 'spec')
}

const unknownIn = (value: unknown, schema: Schema, path: string): readonly TaskProblem[] => {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return []
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? [] : value.flatMap((item, at) => unknownIn(item, items, `${path}[${at}]`))
  }
  const { properties, additionalProperties } = schema
  if (!isObject(value) || properties === undefined) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const next = properties[key]
    if (next !== undefined) return unknownIn(inner, next, `${path}.${key}`)
    return additionalProperties === undefined
      ? [{ path: `${path}.${key}`, message: 'an AdapterTask has no such field' }]
      : []
  })
}

/** What the rules of canned responses may say; match and responses of a rule by their paths. */
const KNOWN = {
  rule: ['match', 'responses'],
  match: ['method', 'urlPattern'],
  answer: ['statusCode', 'headers', 'body'],
} as const

/** The first field of the rules that is not known, and what is; undefined when all are. */
export const unknownRuleField = (rules: readonly unknown[]): string | undefined =>
  rules
    .flatMap((rule, at) => {
      if (!isObject(rule)) return []
      const place = `responses[${at}]`
      const answers = Array.isArray(rule.responses) ? rule.responses : []
      return [
        ...unknownKeys(rule, KNOWN.rule, place),
        ...unknownKeys(rule.match, KNOWN.match, `${place}.match`),
        ...answers.flatMap((answer, index) => unknownKeys(answer, KNOWN.answer, `${place}.responses[${index}]`)),
      ]
    })
    .at(0)

const unknownKeys = (value: unknown, known: readonly string[], place: string): readonly string[] =>
  isObject(value)
    ? Object.keys(value)
        .filter((key) => !known.includes(key))
        .map((key) => `${place}.${key} is not known: write ${known.join(', ')}`)
    : []
