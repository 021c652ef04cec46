/** What Muster would do with an object of Hive's, and what a person has to do: pure. */
import { findFields, type Schema } from './field-findings.ts'
import type { HiveKind } from './kinds.ts'

/** An object as the API server of a cluster with Hive has it. */
export interface HiveObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly deletionTimestamp?: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

export const VERDICTS = ['as it is', 'with changes', 'later', 'stays with Hive'] as const

export interface Judgement {
  readonly kind: HiveKind
  readonly namespace: string
  readonly name: string
  /**
   * Whether it can be applied at Muster: as it is; with changes by a person; once Hive has let go of it; or not at all, for what it
   * stands for was made by Hive, and goes when Hive deletes it.
   */
  readonly verdict: (typeof VERDICTS)[number]
  /** Sentences for a person: what has to be done, and what Muster does otherwise. */
  readonly notes: readonly string[]
  /**
   * Of a pool or a customization as Muster takes it now, with its inventory in Muster's shape; absent where a person has to change
   * it, and where Hive still has it.
   */
  readonly spec?: Readonly<Record<string, unknown>>
}

/** @param schema of the kind's spec, in Muster's definition */
export const judge = (kind: HiveKind, object: HiveObject, schema: Schema): Judgement => {
  const { name, namespace = '' } = object.metadata
  const reason = whyItStays(kind, object) ?? undefined
  const spec = object.spec ?? {}
  const adapted = kind === 'ClusterPool' ? withNamedInventory(spec) : spec
  const { unknown, unused, refused } = findFields(adapted, schema)
  const changes = [
    ...(adapted === spec ? [] : [describeInventory(adapted)]),
    ...refused.map((why) => `refused by the API server: ${why}`),
    ...unknown.map((path) => `${path} is not known, take it out: the API server would drop it`),
  ]
  const notes = [...unused.map((path) => `${path} is kept, and nothing acts on it`), ...treatedOtherwise(kind, spec)]
  const base = { kind, namespace, name }
  if (reason !== undefined) return { ...base, verdict: 'stays with Hive', notes: [reason] }
  const holder = kind === 'ClusterDeploymentCustomization' ? holderOf(object) : undefined
  if (holder !== undefined)
    return {
      ...base,
      verdict: 'later',
      notes: [`it is used by ${holder}: apply it at Muster when that is gone`, ...changes, ...notes],
    }
  const isTaken = kind !== 'ClusterClaim' && refused.length === 0 && unknown.length === 0
  return {
    ...base,
    verdict: changes.length > 0 ? 'with changes' : 'as it is',
    notes: [...changes, ...notes],
    ...(isTaken && { spec: adapted }),
  }
}

const whyItStays = (kind: HiveKind, { metadata, spec = {} }: HiveObject): string | undefined => {
  if (kind === 'ClusterDeployment')
    return 'its cluster was made by Hive, and only Hive can delete it: at Muster it would be registered as a new cluster and installed again'
  if (metadata.deletionTimestamp !== undefined) return 'it is being deleted'
  if (kind === 'ClusterClaim' && typeof spec.namespace === 'string' && spec.namespace !== '')
    return `it has the cluster in namespace ${spec.namespace}, which Hive made: let it end there, and claim anew at Muster`
  return undefined
}

/** The cluster that uses a customization. */
const holderOf = ({ status = {} }: HiveObject): string | undefined => {
  const named = (status.clusterDeploymentRef as { readonly name?: string } | undefined)?.name
  const conditions = (status.conditions ?? []) as readonly { readonly type: string; readonly status: string }[]
  const isReserved = conditions.some(({ type, status }) => type === 'Available' && status === 'False')
  return named ?? (isReserved ? 'a cluster that it does not name' : undefined)
}

/** Hive's inventory is a list of `{kind, name}`; Muster's has the customizations below their kind (POOL-54). */
const withNamedInventory = (spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  if (!Array.isArray(spec.inventory)) return spec
  const names = spec.inventory.map((entry: { readonly name?: unknown }) => ({ name: entry.name }))
  return { ...spec, inventory: { ClusterDeploymentCustomizations: names } }
}

const describeInventory = ({ inventory }: Readonly<Record<string, unknown>>): string =>
  `spec.inventory is a list, write: inventory: ${JSON.stringify(inventory)}`

interface Patch {
  readonly op?: string
  readonly path?: string
}

const treatedOtherwise = (kind: HiveKind, spec: Readonly<Record<string, unknown>>): string[] => {
  if (kind === 'ClusterPool')
    return spec.customizationRef === undefined
      ? []
      : [
          'spec.customizationRef: Hive takes the manifest patches of that customization, Muster its patches of the install-config',
        ]
  if (kind === 'ClusterClaim')
    return ['Hive makes a cluster for it as long as it is there: delete it there before it is applied at Muster']
  if (kind !== 'ClusterDeploymentCustomization') return []
  const patches = (spec.installConfigPatches ?? []) as readonly Patch[]
  return patches.flatMap(({ op, path = '' }, at) => {
    const where = `spec.installConfigPatches[${at}]`
    if (!path.startsWith('/'))
      return [
        `${where}: the path ${path} has no slash at its beginning: Hive adds a field of that name at the top, Muster reads /${path}`,
      ]
    return op === 'replace'
      ? [
          `${where}: Hive adds ${path} where it is missing, Muster does not use the customization then: look with muster pool render`,
        ]
      : []
  })
}
