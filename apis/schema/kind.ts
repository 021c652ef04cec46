import type { TSchema } from 'typebox'
import type { Resource } from '#operator/model/resource.ts'
import type { Rule } from './rule.ts'

/** A column of `kubectl get`. Kubernetes: CustomResourceDefinition additionalPrinterColumns. */
export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean' | 'date'
  /** JSONPath into the object, e.g. `.status.resources`; it can only reach a scalar. */
  readonly path: string
  readonly description: string
}

/**
 * A custom resource as its file under `apis/<group>/<version>/` describes it: everything that the
 * CustomResourceDefinition, the reference page and the roles are generated from.
 *
 * Kinds are made by functions, so that a command which only needs the typed handle never loads the schema library.
 */
export interface CustomKind {
  readonly resource: Resource
  readonly shortNames: readonly string[]
  /** Only Muster writes objects of this kind: people may read them. */
  readonly isInternal?: boolean
  /** One sentence: what an object of this kind is for. */
  readonly description: string
  /** What must hold of the whole object: the only rules that see `self.metadata.name`. */
  readonly rules?: readonly Rule[]
  readonly spec: TSchema
  readonly status: TSchema
  readonly columns: readonly Column[]
  /** Where `kubectl scale` finds the wanted and the present number; for resources with the subresource scale. */
  readonly scale?: { readonly spec: string; readonly status: string }
  /** Fields that `kubectl get --field-selector` can filter by, as JSONPath. */
  readonly selectableFields: readonly string[]
}
