import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { load } from 'js-yaml'
import { MAX_DOCUMENT_DEPTH } from '#services/hyperfleet-api/model/document-depth.ts'
import type { Origin } from './target.ts'

/** Kubernetes: Go's decoder of JSON refuses more levels. */
const KUBERNETES_LEVELS = 10_000

const CRDS = join(import.meta.dirname, '..', '..', 'manifests', 'crds')

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
}

const ajv = new Ajv({ strict: false, validateFormats: false, logger: false })

/** @param kind as its CRD's file is called @param field of the object, such as `spec` or `spec.score` */
const validatorOf = ({ kind, field }: Exclude<Origin, string>): ((value: unknown) => boolean) => {
  const crd = load(readFileSync(join(CRDS, `${kind}.yaml`), 'utf8')) as {
    spec: { versions: readonly [{ schema: { openAPIV3Schema: Schema } }] }
  }
  const root = crd.spec.versions[0].schema.openAPIV3Schema
  const schema = field.split('.').reduce<Schema | undefined>((at, name) => at?.properties?.[name], root)
  if (schema === undefined) throw new Error(`${kind} has no field ${field}`)
  return ajv.compile(schema)
}

/** The value as it can be where it is read; undefined where it does not come so far. */
export const arrivesFrom = (origin: Origin | undefined): ((value: unknown) => unknown) => {
  if (origin === 'hyperfleet') return (value) => copyOf(value, MAX_DOCUMENT_DEPTH)
  if (typeof origin !== 'object') return (value) => value
  const isValid = validatorOf(origin)
  return (value) => {
    const copy = copyOf(value, KUBERNETES_LEVELS)
    return isValid(copy) ? copy : undefined
  }
}

/** Of well-formed texts, cut below a level. Without recursion: it may be deeper than the stack. */
const copyOf = (value: unknown, levels: number): unknown => {
  const root: Record<string, unknown> = {}
  const open = [{ from: value, into: root, key: 'value', level: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { from, into, key, level } = next
    if (typeof from === 'string') into[key] = from.toWellFormed()
    else if (typeof from !== 'object' || from === null) into[key] = from
    else if (level <= levels) {
      const copy = (Array.isArray(from) ? [] : {}) as Record<string, unknown>
      into[key] = copy
      for (const [name, inner] of Object.entries(from))
        if (name !== '__proto__') open.push({ from: inner, into: copy, key: name.toWellFormed(), level: level + 1 })
    }
  }
  return root.value
}
