import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type AnyController,
  type Context,
  controller,
  defineResource,
  type Index,
  type KubeObject,
  RegistrationError,
} from './index.ts'

const Widget = defineResource<{ readonly size: number }, { readonly ready: boolean }>({
  group: 'test.muster.dev',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  scope: 'Namespaced',
  subresources: ['status'],
})

describe('a controller', () => {
  it('is called after its kind and has its own finalizer', () => {
    const { name, definition } = controller(Widget)
    expect([name, definition.finalizer]).toEqual(['widgets', 'muster.dev/widgets'])
    expect(controller(Widget, { name: 'pools', finalizer: 'example.com/pools' }).definition.finalizer).toBe(
      'example.com/pools',
    )
  })

  it.each<[string, () => unknown, string]>([
    [
      'a bad name',
      () => controller(Widget, { name: 'Pools!' }),
      "controller Pools!: the name must be lower-case letters, digits and '-', 42 at most, such as 'pools': it becomes part of an annotation",
    ],
    [
      'a finalizer without a domain',
      () => controller(Widget, { finalizer: 'mine' }),
      `controller widgets: finalizer "mine" needs a domain, such as 'example.com/mine'`,
    ],
    [
      'no workers',
      () => controller(Widget, { concurrency: 0 }),
      'controller widgets: concurrency: 0 must be a whole number from 1 on',
    ],
    [
      'an id that is taken',
      () => {
        const widgets = controller(Widget)
        widgets.on.create('make', () => {})
        widgets.timer('make', { every: '1m' }, () => {})
      },
      'controller widgets: timer id "make" is taken by create handler: give each handler its own id, progress is kept under it',
    ],
    [
      'a second reconcile',
      () => {
        const widgets = controller(Widget)
        widgets.reconcile(() => {})
        widgets.reconcile(() => {})
      },
      'controller widgets: reconcile handler id "reconcile" is taken by reconcile handler: give each handler its own id, progress is kept under it',
    ],
    [
      'an empty id',
      () => controller(Widget).on.create('', () => {}),
      `controller widgets: create handler id "": write letters, digits, '-', '_', '.' or '/', 63 at most`,
    ],
    [
      'a bad duration',
      () => controller(Widget).timer('tick', { every: '5 minutes' as '5m' }, () => {}),
      'controller widgets: timer "tick" every: "5 minutes" is not a duration: write a number and a unit, such as 500ms, 10s, 30m or 1h30m',
    ],
    [
      'a negative time',
      () => controller(Widget).on.create('make', () => {}, { backoff: -1 }),
      `controller widgets: "make" backoff: -1 is no duration: write milliseconds from 0 on, or a text such as '30s'`,
    ],
    [
      'a timer without a pause',
      () => controller(Widget).timer('tick', { every: 0 }, () => {}),
      `controller widgets: timer "tick" every: write a time above 0, such as '1m'`,
    ],
    [
      'half a retry',
      () => controller(Widget).on.create('make', () => {}, { retries: 1.5 }),
      'controller widgets: "make" retries: 1.5 must be a whole number from 1 on',
    ],
    [
      'a backoff that shrinks',
      () => controller(Widget).reconcile(() => {}, { backoff: { initial: '1s', factor: 0.5, max: '1m' } }),
      'controller widgets: "reconcile" backoff.factor: 0.5 must be 1 or more',
    ],
    [
      'a field that is not declared',
      () => controller(Widget).on.field('status.ready', 'ready', () => {}),
      `controller widgets: field "status.ready" of "ready" is not declared by people: write a path such as 'spec.replicas', 'metadata.labels' or 'metadata.annotations'`,
    ],
  ])('refuses %s and says what to write', (_, declare, message) => {
    expect(declare).toThrow(RegistrationError)
    expect(declare).toThrow(message)
  })

  it('of any kind can be run', () => {
    const widgets = controller(Widget)
    expectTypeOf(widgets).toExtend<AnyController>()
    widgets.reconcile((context) => {
      expectTypeOf(context).toExtend<Context<KubeObject<{ readonly size: number }, { readonly ready: boolean }>>>()
      expectTypeOf(context.spec.size).toBeNumber()
      expectTypeOf(context.status).toEqualTypeOf<{ readonly ready: boolean } | undefined>()
      context.patch.status({ ready: true })
      // @ts-expect-error a status that the kind does not have
      context.patch.status({ reddy: true })
    })
    const bySize = widgets.index('size', ({ spec, metadata }) => [[spec.size, metadata.name]])
    expectTypeOf(bySize).toExtend<Index<number, string>>()
    expect(bySize.get(1)).toEqual([])
  })
})
