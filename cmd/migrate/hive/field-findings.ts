/** What of an object Muster's definition of its kind knows otherwise: pure, from the schema that the API server would have. */
import { Ajv, type ErrorObject } from 'ajv'
import { environment } from '#lib/cel/index.ts'

/** A structural schema, as far as it is read here. */
export interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message: string }[]
}

export interface FieldFindings {
  /** Paths that no field of Muster's has: the API server drops them, and kubectl refuses them. */
  readonly unknown: readonly string[]
  /** Paths of fields that are kept as they are, and that nothing acts on. */
  readonly unused: readonly string[]
  /** Why the API server would refuse the object. */
  readonly refused: readonly string[]
}

const UNUSED = /kept as it is written[;,] nothing acts on it here/i

/** @param spec of an object; it is not changed */
export const findFields = (spec: unknown, schema: Schema): FieldFindings => {
  const unknown: string[] = []
  const unused: string[] = []
  const walk = (value: unknown, node: Schema, path: string): void => {
    if (UNUSED.test(node.description ?? '')) {
      unused.push(path)
      return
    }
    if (node['x-kubernetes-preserve-unknown-fields'] === true) return
    if (Array.isArray(value)) {
      for (const [at, item] of value.entries()) if (node.items) walk(item, node.items, `${path}[${at}]`)
      return
    }
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      const next = node.properties?.[key] ?? node.additionalProperties
      if (next !== undefined) walk(inner, next, `${path}.${key}`)
      else if (node.properties !== undefined) unknown.push(`${path}.${key}`)
    }
  }
  walk(spec, schema, 'spec')
  return { unknown, unused, refused: findRefusals(spec, schema) }
}

const findRefusals = (spec: unknown, schema: Schema): string[] => {
  const filled: unknown = structuredClone(spec)
  const validate = new Ajv({ strict: false, useDefaults: true, validateFormats: false, allErrors: true }).compile(
    schema,
  )
  if (!validate(filled)) return [...new Set((validate.errors ?? []).map(describe))]
  return brokenRules(filled, schema, 'spec')
}

const describe = ({ instancePath, message = 'is not valid', params }: ErrorObject): string => {
  const path = `spec${instancePath.replaceAll(/\/(\d+)/g, '[$1]').replaceAll('/', '.')}`
  const allowed = 'allowedValues' in params ? `: ${(params.allowedValues as unknown[]).join(', ')}` : ''
  return `${path} ${message}${allowed}`
}

const cel = environment({ variables: { self: 'dyn' } })

/** The rules that a new object breaks; those about a change don't hold of it. */
const brokenRules = (value: unknown, node: Schema, path: string): string[] => {
  if (value === undefined) return []
  const own = (node['x-kubernetes-validations'] ?? [])
    .filter(({ rule }) => !rule.includes('oldSelf') && !holds(rule, value))
    .map(({ message }) => `${path}: ${message}`)
  const inner = Array.isArray(value)
    ? value.flatMap((item, at) => (node.items ? brokenRules(item, node.items, `${path}[${at}]`) : []))
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, each]) => {
          const next = node.properties?.[key] ?? node.additionalProperties
          return next === undefined ? [] : brokenRules(each, next, `${path}.${key}`)
        })
      : []
  return [...own, ...inner]
}

const holds = (rule: string, self: unknown): boolean => cel.compile(rule).evaluate({ self }) === true
