import { type Json, mergePatches } from '#lib/json/merge-patch.ts'
import type { DeepPartial, KubeObject } from '../model/resource.ts'
import type { Patch, Writable } from './context.ts'
import type { StoragePatch } from './storage.ts'

type FinalizerEdit = (finalizers: readonly string[], object: KubeObject) => readonly string[]

/** What handlers recorded, until it is sent. */
export interface PatchRecord<O extends KubeObject> extends Patch<O>, Pick<StoragePatch, 'afterwards'> {
  readonly body: Json
  readonly statusBody: Json
  readonly edits: readonly ((draft: Writable<O>) => void)[]
  readonly finalizerEdits: readonly FinalizerEdit[]
  readonly empty: boolean
  finalizers(edit: FinalizerEdit): void
  /** Everything was sent, or there was nothing to send. */
  sent(): void
}

export const createPatch = <O extends KubeObject>(): PatchRecord<O> => {
  const body: Json = {}
  const statusBody: Json = {}
  const edits: ((draft: Writable<O>) => void)[] = []
  const finalizerEdits: FinalizerEdit[] = []
  const callbacks: (() => void)[] = []
  return {
    body,
    statusBody,
    edits,
    finalizerEdits,
    get empty() {
      return isEmpty(body) && isEmpty(statusBody) && edits.length === 0 && finalizerEdits.length === 0
    },
    merge: (part: DeepPartial<O>) => mergePatches(body, part as Json),
    status: (part) => mergePatches(statusBody, part as Json),
    edit: (edit) => {
      edits.push(edit)
    },
    finalizers: (edit) => {
      finalizerEdits.push(edit)
    },
    afterwards: (done) => {
      callbacks.push(done)
    },
    sent: () => {
      for (const done of callbacks) done()
    },
  }
}

export const isEmpty = (part: Json): boolean => {
  for (const _ in part) return false
  return true
}
