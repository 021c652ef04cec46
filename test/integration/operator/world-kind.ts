import { defineResource } from '#operator/index.ts'

export interface WidgetSpec {
  readonly size: number
  readonly color?: string
}

export interface WidgetStatus {
  readonly phase?: string
  readonly seen?: number
  readonly ready?: boolean
}

/** A kind that only these tests have. */
export const Widget = defineResource<WidgetSpec, WidgetStatus>({
  group: 'test.muster.dev',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  scope: 'Namespaced',
  subresources: ['status'],
})
export type Widget = NonNullable<(typeof Widget)['_object']>
/** A controller that keeps progress and the state it handled last on its objects, where tests and later processes see them. */
export const IN_ANNOTATIONS = { progress: 'annotations', diffBase: 'annotations' } as const
