import { describe, expect, it } from 'vitest'
import { declaredStateOf } from './declared-state.ts'

const metadata = {
  name: 'one',
  uid: 'u',
  resourceVersion: '7',
  generation: 3,
  finalizers: ['muster.dev/widgets'],
}

describe('the declared state of an object', () => {
  // RUNTIME-11
  it('is what people declare, without the notes of the runtime and of kubectl', () => {
    const declared = declaredStateOf({
      apiVersion: 'test/v1',
      kind: 'Widget',
      metadata: {
        ...metadata,
        labels: { tier: 'gold' },
        annotations: {
          'example.com/color': 'red',
          'muster.dev/widgets.handled': '{}',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      },
      spec: { size: 1 },
      status: { ready: true },
    })
    expect(declared).toEqual({
      spec: { size: 1 },
      metadata: { labels: { tier: 'gold' }, annotations: { 'example.com/color': 'red' } },
    })
  })

  it('does not change when the runtime writes its first note', () => {
    const object = { apiVersion: 'test/v1', kind: 'Widget', metadata, spec: { size: 1 } }
    const noted = { ...object, metadata: { ...metadata, annotations: { 'muster.dev/widgets.handled': '{}' } } }
    expect(declaredStateOf(noted)).toEqual(declaredStateOf(object))
  })

  it('has the data of kinds without a spec', () => {
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, spec: undefined, data: { key: 'value' } }
    expect(declaredStateOf(configMap)).toMatchObject({ data: { key: 'value' }, metadata: {} })
  })
})
