/** Records in a run's state what was found and done, also of the objects inside a ManifestWork (ADAPTER-32). */
import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Discovery, Json, JsonObject, NestedDiscovery, Scope, TaskResource } from '../../task/task.ts'
import { describeLookup, type Lookup } from '../../transports/transport.ts'
import type { RunState } from '../run-state.ts'
import { metadataOf, pickLatest } from './object.ts'

/** Lets expressions read what was found of a resource: the latest match (ADAPTER-30), or nothing. */
export const recordFound = (state: RunState, resource: TaskResource, found: readonly JsonObject[]): void => {
  const one = pickLatest(found)
  for (const name of [resource.name, ...resource.nested.map((nested) => nested.name)]) delete state.resources[name]
  if (one === undefined) return
  state.redactor.addSecretsIn(found)
  state.resources[resource.name] = one
  for (const nested of resource.nested) {
    const inner = findNested(one, nested, state.scope)
    if (inner !== undefined) state.resources[nested.name] = inner
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
export const findNested = (work: JsonObject, { discovery }: NestedDiscovery, scope: Scope): JsonObject | undefined => {
  const { spec, status } = work as unknown as {
    spec?: { workload?: { manifests?: readonly JsonObject[] } }
    status?: { resourceStatus?: { manifests?: readonly WorkManifest[] } }
  }
  const matching = (spec?.workload?.manifests ?? []).filter((manifest) => matches(manifest, discovery, scope))
  const object = pickLatest(matching)
  if (object === undefined) return undefined
  const { name, namespace } = metadataOf(object)
  const recorded = (status?.resourceStatus?.manifests ?? []).find(
    ({ resourceMeta }) =>
      resourceMeta?.name === name &&
      resourceMeta?.kind === object.kind &&
      (resourceMeta?.namespace || undefined) === namespace,
  )
  if (recorded === undefined) return object
  const { statusFeedback = {}, conditions = [] } = recorded
  return { ...object, statusFeedback, conditions }
}

const matches = (object: JsonObject, { namespace, by }: Discovery, scope: Scope): boolean => {
  const metadata = metadataOf(object)
  const desired = namespace?.render(scope)
  if (desired !== undefined && desired !== '' && desired !== '*' && metadata.namespace !== desired) return false
  if (by.kind === 'name') return metadata.name === by.name.render(scope)
  return Object.entries(by.labels).every(([key, value]) => metadata.labels?.[key] === value.render(scope))
}

/** Adds a line to the trace. @param lookup undefined when it can't be rendered */
export const recordStep = (
  state: RunState,
  name: string,
  action: ResourceAction,
  lookup: Lookup | undefined,
  message: string | undefined,
): void => {
  const object = lookup && describeLookup(lookup)
  state.steps.push({ name, action, ...(object && { object }), ...(message && { message }) })
}
