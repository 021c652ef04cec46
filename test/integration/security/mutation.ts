/** What tests change of an install, as data. */
import type { KindName } from '#cmd/security/model.ts'

interface Named {
  readonly kind: KindName
  readonly name: string
  /** Where it is not Muster's own. */
  readonly namespace?: string
}

/** One object of the install changed, deleted, or added. */
export type Edit =
  | (Named & { readonly change: (object: Any) => Any })
  | (Named & { readonly change: 'delete' })
  /** Its status is written, too. A function is given the object that was made before. */
  | { readonly kind: KindName; readonly create: Any }

/** An object as JSON, whose fields tests name freely. */
// biome-ignore lint/suspicious/noExplicitAny: every kind is edited here
export type Any = any

export interface Mutation {
  readonly title: string
  /** The checks that report it, and no other. */
  readonly reports: readonly string[]
  readonly edits: readonly Edit[]
  /** Objects that the install's policies refuse, made before they are back. */
  readonly before?: readonly Edit[]
}

/** The first container of a workload's pods. */
export const inContainer = (
  kind: 'Deployment' | 'StatefulSet',
  name: string,
  change: (container: Any) => Any,
): Edit => ({
  kind,
  name,
  change: (object) => {
    const changed = structuredClone(object)
    const { containers } = changed.spec.template.spec
    containers[0] = change(containers[0])
    return changed
  },
})
