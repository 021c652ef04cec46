import { describe, expect, it } from 'vitest'
import { isObject } from '#lib/json/is-object.ts'
import { type Json, mergePatches } from '#lib/json/merge-patch.ts'
import type { KubeObject } from '../model/resource.ts'
import { createPatch } from './patch.ts'
import { createStorage, type StorageKind } from './storage.ts'

/** An object that patches are applied to as the API server would. */
const widget = () => {
  let object: KubeObject = {
    apiVersion: 'test/v1',
    kind: 'Widget',
    metadata: { name: 'one', uid: 'u', resourceVersion: '1' },
    spec: {},
  }
  return {
    get object() {
      return object
    },
    send(record: (patch: ReturnType<typeof createPatch>) => void) {
      const patch = createPatch()
      record(patch)
      const next = structuredClone(object) as unknown as Json
      mergePatches(next, patch.body)
      mergePatches(next, { status: patch.statusBody })
      object = dropNulls(next) as unknown as KubeObject
      patch.sent()
    },
  }
}

const dropNulls = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, part]) => (part === null ? [] : [[key, dropNulls(part)]])),
      )
    : value

describe.each<StorageKind>(['annotations', 'status', 'memory'])('a memory in %s', (kind) => {
  it('gives back what was stored, replaces it whole, and forgets it', () => {
    const memory = createStorage<Json>(kind, 'widgets.progress')
    const one = widget()
    expect(memory.fetch(one.object)).toBeUndefined()
    one.send((patch) => memory.store({ a: 1, b: { c: 2 } }, one.object, patch))
    expect(memory.fetch(one.object)).toEqual({ a: 1, b: { c: 2 } })
    one.send((patch) => memory.store({ b: {} }, one.object, patch))
    expect(memory.fetch(one.object)).toEqual({ b: {} })
    one.send((patch) => memory.store(undefined, one.object, patch))
    expect(memory.fetch(one.object)).toBeUndefined()
  })

  it('remembers nothing of a patch that was not sent', () => {
    const memory = createStorage<Json>(kind, 'widgets.progress')
    const one = widget()
    memory.store({ a: 1 }, one.object, createPatch())
    expect(memory.fetch(one.object)).toBeUndefined()
  })

  it('asks for no write to forget what is not there', () => {
    const memory = createStorage<Json>(kind, 'widgets.progress')
    const patch = createPatch()
    memory.store(undefined, widget().object, patch)
    expect(patch.empty).toBe(true)
  })
})

// RUNTIME-16
it('a garbled note counts as none', () => {
  const memory = createStorage<Json>('annotations', 'widgets.progress')
  const { object } = widget()
  const metadata = { ...object.metadata, annotations: { 'muster.dev/widgets.progress': '{' } }
  expect(memory.fetch({ ...object, metadata })).toBeUndefined()
})
