/** Writes fields of an object under the field managers of a task, and gives them up. */
import { isConflict, isDenied, isInvalid, isNotFound } from '#operator/client/errors.ts'
import type { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport } from '#operator/client/transport.ts'
import { pathOf, type Resource, apiVersionOf as resourceApiVersion } from '#operator/model/resource.ts'
import { apiVersionOf, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { isAppliedBy, type OwnManagers } from './shared-objects.ts'

/** The HTTP status. */
const CREATED = 201

export interface ServerSideApplyOptions {
  /** In the name of the task's ServiceAccount. */
  readonly transport: Transport
  readonly kinds: RestMapper
  readonly managers: OwnManagers
}

export class ServerSideApply {
  readonly #options: ServerSideApplyOptions
  /** Answers to requests that have made the object. */
  readonly #created = new WeakSet<JsonObject>()

  constructor(options: ServerSideApplyOptions) {
    this.#options = options
  }

  /** Where the path is not there, what was known of the kind is asked for again by the next run. @throws what the API server failed with */
  async patch(
    resource: Resource,
    body: JsonObject,
    force: boolean,
    signal: AbortSignal,
    fieldManager: string = this.#options.managers[0],
  ): Promise<JsonObject> {
    const { transport, kinds } = this.#options
    const { name = '', namespace } = metadataOf(body)
    let status: number | undefined
    try {
      const answer = await transport.request<JsonObject>({
        method: 'PATCH',
        path: pathOf(resource, { name, ...(namespace !== undefined && { namespace }) }),
        contentType: 'application/apply-patch+yaml', // JSON is YAML
        query: { fieldManager, ...(force && { force }) },
        body,
        signal,
        onStatus: (code) => {
          status = code
        },
      })
      if (status === CREATED) this.#created.add(answer)
      return answer
    } catch (error) {
      if (isNotFound(error)) kinds.forget(apiVersionOf(body))
      throw error
    }
  }

  /** The object was not there before this answer. */
  wasCreated(answer: JsonObject): boolean {
    return this.#created.has(answer)
  }

  /** It is the other task's alone from now on. Of two that leave it at the same time one meets a conflict, and looks again. */
  async leave(resource: Resource, object: JsonObject, signal: AbortSignal): Promise<'left'> {
    const { managers } = this.#options
    const own = managers.filter((manager) => isAppliedBy(object, [manager]))
    let left = object
    for (const manager of own.length > 0 ? own : [managers[0]])
      left = (await this.#giveUp(resource, left, manager, signal)) ?? left
    return 'left'
  }

  /** What a release before has applied is the current field manager's alone: fields that are in the manifest no more go. ADAPTER-114. */
  async dropFormer(resource: Resource, applied: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const [, former] = this.#options.managers
    if (!isAppliedBy(applied, [former])) return applied
    try {
      return (await this.#giveUp(resource, applied, former, signal)) ?? applied
    } catch (error) {
      // It was written since: the next run does it.
      if (isConflict(error)) return applied
      throw error
    }
  }

  /**
   * The fields that this field manager alone has go. Where the object can't be without them, such as the selector of a Deployment or what is immutable,
   * or a policy keeps them, such as the Pod Security level of a namespace, they stay as they are: ADAPTER-121. @returns undefined then. @throws ApiError a conflict when the object is in another state
   */
  async #giveUp(
    resource: Resource,
    object: JsonObject,
    manager: string,
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> {
    const { name, namespace, resourceVersion } = metadataOf(object)
    const metadata = { name, ...(namespace !== undefined && { namespace }), resourceVersion }
    const body = { apiVersion: resourceApiVersion(resource), kind: resource.kind, metadata } as JsonObject
    try {
      return await this.patch(resource, body, true, signal, manager)
    } catch (error) {
      if (isInvalid(error) || isDenied(error)) return undefined
      throw error
    }
  }
}
