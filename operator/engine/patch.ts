import type { DeepPartial, KubeObject } from '../model/resource.ts'
import type { Patch, Writable } from './context.ts'
import type { MemoryPatch } from './memory.ts'
import { combine, type Json } from './mergepatch.ts'

type FinalizerEdit = (finalizers: readonly string[], object: KubeObject) => readonly string[]

/** What handlers recorded, until it is sent. */
export interface PatchRecord<O extends KubeObject> extends Patch<O>, Pick<MemoryPatch, 'afterwards'> {
  readonly body: Json
  readonly statusBody: Json
  readonly transforms: readonly ((draft: Writable<O>) => void)[]
  readonly finalizerEdits: readonly FinalizerEdit[]
  readonly empty: boolean
  finalizers(edit: FinalizerEdit): void
  /** Everything was sent, or there was nothing to send. */
  sent(): void
}

export const createPatch = <O extends KubeObject>(): PatchRecord<O> => {
  const body: Json = {}
  const statusBody: Json = {}
  const transforms: ((draft: Writable<O>) => void)[] = []
  const finalizerEdits: FinalizerEdit[] = []
  const callbacks: (() => void)[] = []
  return {
    body,
    statusBody,
    transforms,
    finalizerEdits,
    get empty() {
      return isEmpty(body) && isEmpty(statusBody) && transforms.length === 0 && finalizerEdits.length === 0
    },
    merge: (part: DeepPartial<O>) => combine(body, part as Json),
    status: (part) => combine(statusBody, part as Json),
    transform: (edit) => {
      transforms.push(edit)
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
