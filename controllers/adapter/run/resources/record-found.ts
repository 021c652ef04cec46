/** Finds what is there: resources by name or labels, and the objects inside a ManifestWork. */

import type { Discovery, Json, JsonObject, NestedDiscovery, Scope, TaskResource } from '../../task/task.ts'
import type { Progress } from '../run-state.ts'
import { foremost, metadataOf } from './object.ts'

/** Makes what was found of a resource known to expressions: the foremost match, or nothing. */
export const know = (progress: Progress, resource: TaskResource, found: readonly JsonObject[]): void => {
  const one = foremost(found)
  for (const name of [resource.name, ...resource.nested.map((nested) => nested.name)]) delete progress.resources[name]
  if (one === undefined) return
  progress.veil.hideSecrets(found)
  progress.resources[resource.name] = one
  for (const nested of resource.nested) {
    const inner = nestedIn(one, nested, progress.scope)
    if (inner !== undefined) progress.resources[nested.name] = inner
  }
}

interface WorkManifest {
  readonly resourceMeta?: {
    readonly kind?: string
    readonly group?: string
    readonly name?: string
    readonly namespace?: string
  }
  readonly statusFeedback?: Json
  readonly conditions?: Json
}

/**
 * An object inside a ManifestWork: as it was sent, with what the work's status says about it as `statusFeedback` and `conditions`.
 * Open Cluster Management: `spec.workload.manifests`, `status.resourceStatus.manifests`.
 * @returns undefined when there is none, or the resource is no ManifestWork
 */
export const nestedIn = (work: JsonObject, { discovery }: NestedDiscovery, scope: Scope): JsonObject | undefined => {
  const { spec, status } = work as unknown as {
    spec?: { workload?: { manifests?: readonly JsonObject[] } }
    status?: { resourceStatus?: { manifests?: readonly WorkManifest[] } }
  }
  const matching = (spec?.workload?.manifests ?? []).filter((manifest) => matches(manifest, discovery, scope))
  const object = foremost(matching)
  if (object === undefined) return undefined
  const { name, namespace } = metadataOf(object)
  const said = (status?.resourceStatus?.manifests ?? []).find(
    ({ resourceMeta }) =>
      resourceMeta?.name === name &&
      resourceMeta?.kind === object.kind &&
      (resourceMeta?.namespace || undefined) === namespace,
  )
  if (said === undefined) return object
  const { statusFeedback = {}, conditions = [] } = said
  return { ...object, statusFeedback, conditions }
}

const matches = (object: JsonObject, { namespace, by }: Discovery, scope: Scope): boolean => {
  const metadata = metadataOf(object)
  const wanted = namespace?.render(scope)
  if (wanted !== undefined && wanted !== '' && wanted !== '*' && metadata.namespace !== wanted) return false
  if (by.kind === 'name') return metadata.name === by.name.render(scope)
  return Object.entries(by.labels).every(([key, value]) => metadata.labels?.[key] === value.render(scope))
}
