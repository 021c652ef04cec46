import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { hintAt } from '#lib/text/nearest.ts'
import { UsageError } from '../failure.ts'

/** The generated manifests: beside the bundle, or in the checkout. */
const folder = () =>
  globalThis.MUSTER_BUILD === undefined
    ? join(import.meta.dirname, '../../manifests/crds')
    : join(import.meta.dirname, 'crds')

interface Manifest {
  readonly kind: string
  readonly plural: string
  readonly text: string
}

const field = (text: string, name: string): string => new RegExp(`^ {4}${name}: (\\S+)$`, 'm').exec(text)?.[1] ?? ''

const manifests = (): Manifest[] =>
  readdirSync(folder())
    .sort()
    .map((file) => readFileSync(join(folder(), file), 'utf8'))
    .map((text) => ({ text, kind: field(text, 'kind'), plural: field(text, 'plural') }))

/** What a CustomResourceDefinition holds of its only version. Kubernetes: apiextensions.k8s.io/v1. */
interface Definition {
  readonly spec: { readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: object } }] }
}

/**
 * The structural schema of a kind of ours, as the API server has it: a JSON Schema with `x-kubernetes-` words.
 * @param kindName the kind's name
 */
export const schemaOf = (kindName: string): object => {
  const found = manifests().find(({ kind }) => kind === kindName)
  if (found === undefined) throw new Error(`there is no CustomResourceDefinition of the kind ${kindName}`)
  return (load(found.text) as Definition).spec.versions[0].schema.openAPIV3Schema
}

/**
 * The CustomResourceDefinitions of every kind, or of one, as YAML documents.
 * @param kindName Kind or plural, in any case.
 * @throws UsageError when there is no such kind.
 */
export const crds = (kindName?: string): string => {
  const all = manifests()
  const name = kindName?.toLowerCase()
  const chosen = all.filter(({ kind, plural }) => name === undefined || kind.toLowerCase() === name || plural === name)
  if (kindName === undefined || chosen.length > 0) return chosen.map(({ text }) => text).join('---\n')

  const kinds = all.map(({ kind }) => kind)
  throw new UsageError(
    `--kind: ${JSON.stringify(kindName)} is not a kind of ours${hintAt(kindName, kinds)} (valid: ${kinds.join(', ')})`,
  )
}
