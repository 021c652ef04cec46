/** A task as it is written, after its shape was checked; what the schema keeps free has its types here. */
import type { TaskFields } from '#apis/hyperfleet.redhat.com/v1alpha1/task/task.ts'

export type RawTask = TaskFields
type Item<T> = NonNullable<T> extends readonly (infer One)[] ? One : never

export type RawParam = Item<RawTask['params']>
export type RawPrecondition = Item<RawTask['preconditions']>
export type RawCapture = Item<RawPrecondition['capture']>
export type RawCondition = Item<RawPrecondition['conditions']>
export type RawApiCall = NonNullable<RawPrecondition['api_call']>
export type RawResource = Item<RawTask['resources']>
export type RawDiscovery = NonNullable<RawResource['discovery']>
export type RawPayload = Item<NonNullable<RawTask['post']>['payloads']>
export type RawAction = Item<NonNullable<RawTask['post']>['post_actions']>
export type RawLog = NonNullable<RawPrecondition['log']>

export type RawSource =
  | string
  | { readonly api_call: RawApiCall }
  | { readonly expression: string }
  | { readonly file: { readonly path: string; readonly trim?: boolean } }

export type RawManifest = string | { readonly ref: string } | Readonly<Record<string, unknown>>
