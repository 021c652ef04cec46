import { isDeepStrictEqual } from 'node:util'
import type { Break } from './break.ts'
import { type Schema, schemaBreaks } from './schema.ts'

/** Kubernetes: apiextensions.k8s.io/v1 CustomResourceDefinition, as far as it is compared. */
export interface Definition {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly scope: string
    readonly names: {
      readonly kind: string
      readonly listKind?: string
      readonly plural: string
      readonly singular?: string
      readonly shortNames?: readonly string[]
      readonly categories?: readonly string[]
    }
    readonly versions: readonly Version[]
  }
}

interface Version {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly subresources?: Readonly<Record<string, unknown>>
  readonly additionalPrinterColumns?: readonly Column[]
  readonly selectableFields?: readonly { readonly jsonPath: string }[]
  readonly schema: { readonly openAPIV3Schema: Schema }
}

interface Column {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
}

/** Every break between the released definitions and those of now, whose order does not matter. */
export const breaks = (released: readonly Definition[], present: readonly Definition[]): readonly Break[] =>
  released.flatMap((before) => {
    const where = before.metadata.name
    const after = present.find(({ metadata }) => metadata.name === where)
    if (after !== undefined) return definitionBreaks(before, after)
    return [{ where, what: 'the kind was removed or renamed: its objects go with it', instead: 'keep the kind' }]
  })

const definitionBreaks = (before: Definition, after: Definition): readonly Break[] => {
  const where = before.metadata.name
  return [
    ...names(where, before, after),
    ...before.spec.versions.flatMap((version) => {
      const at = `${where} ${version.name}`
      const now = after.spec.versions.find(({ name }) => name === version.name)
      return now === undefined ? [removedVersion(at)] : versionBreaks(at, version, now)
    }),
  ]
}

/** What can't be changed in place: the API server refuses it, or every client and every Role has it written down. */
const names = (where: string, { spec: before }: Definition, { spec: after }: Definition): readonly Break[] => {
  const fixed = [
    ['group', before.group, after.group],
    ['scope', before.scope, after.scope],
    ['kind', before.names.kind, after.names.kind],
    ['listKind', before.names.listKind, after.names.listKind],
    ['plural', before.names.plural, after.names.plural],
    ['singular', before.names.singular, after.names.singular],
  ] as const
  return [
    ...fixed
      .filter(([, was, is]) => was !== is)
      .map(([name, was, is]) => ({
        where,
        what: `the ${name} was ${was} and is ${is}`,
        instead: 'make a new kind beside it',
      })),
    ...missing(before.names.shortNames, after.names.shortNames).map((name) => ({
      where,
      what: `the short name ${name} was removed: scripts use it`,
      instead: 'keep it, and add the new one',
    })),
    ...missing(before.names.categories, after.names.categories).map((name) => ({
      where,
      what: `the category ${name} was removed: scripts use it`,
      instead: 'keep it',
    })),
  ]
}

const missing = <T>(before: readonly T[] = [], after: readonly T[] = []): readonly T[] =>
  before.filter((was) => !after.some((is) => isDeepStrictEqual(was, is)))

const removedVersion = (where: string): Break => ({
  where,
  what: 'the version was removed: objects stored in it can no longer be read',
  instead: 'keep it with served: false until status.storedVersions names it nowhere',
})

const versionBreaks = (where: string, before: Version, after: Version): readonly Break[] => [
  ...(before.served && !after.served
    ? [{ where, what: 'it is no longer served', instead: 'serve it for at least one more release' }]
    : []),
  ...(before.storage && !after.storage
    ? [
        {
          where,
          what: 'it is no longer what objects are stored as: an older release can not read what is written now',
          instead: 'serve the new version for one release before storing it',
        },
      ]
    : []),
  ...columns(where, before, after),
  ...subresources(where, before, after),
  ...missing(before.selectableFields, after.selectableFields).map(({ jsonPath }) => ({
    where,
    what: `${jsonPath} was selectable and is not: field selectors on it are refused`,
    instead: 'keep it in selectableFields',
  })),
  ...schemaBreaks(`${where}: `, before.schema.openAPIV3Schema, after.schema.openAPIV3Schema).map((found) => ({
    ...found,
    where: found.where.replace(': .', ': '),
  })),
]

const columns = (where: string, before: Version, after: Version): readonly Break[] =>
  (before.additionalPrinterColumns ?? []).flatMap(({ name, type, jsonPath }) => {
    const now = after.additionalPrinterColumns?.find((column) => column.name === name)
    if (now === undefined)
      return [{ where, what: `the column ${name} was removed: scripts read it`, instead: 'keep it, with priority 1' }]
    if (now.type === type && now.jsonPath === jsonPath) return []
    const what = `the column ${name} was ${type} ${jsonPath} and is ${now.type} ${now.jsonPath}`
    return [{ where, what, instead: 'add a column of another name' }]
  })

const subresources = (where: string, before: Version, after: Version): readonly Break[] =>
  Object.entries(before.subresources ?? {}).flatMap(([name, was]) => {
    const is = after.subresources?.[name]
    if (isDeepStrictEqual(was, is)) return []
    const what =
      is === undefined ? `the subresource ${name} was removed` : `the subresource ${name} means something else now`
    return [{ where, what: `${what}: clients and Roles use it`, instead: 'keep it' }]
  })
