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

/** Of a class: two are made for each object that changes, and closures would be most of what they take. */
class Recorder<O extends KubeObject> implements PatchRecord<O> {
  readonly body: Json = {}
  readonly statusBody: Json = {}
  readonly edits: ((draft: Writable<O>) => void)[] = []
  readonly finalizerEdits: FinalizerEdit[] = []
  #callbacks: (() => void)[] | undefined

  get empty(): boolean {
    return isEmpty(this.body) && isEmpty(this.statusBody) && this.edits.length === 0 && this.finalizerEdits.length === 0
  }

  merge(part: DeepPartial<O>): void {
    mergePatches(this.body, part as Json)
  }

  status(part: DeepPartial<NonNullable<O['status']>>): void {
    mergePatches(this.statusBody, part as Json)
  }

  edit(edit: (draft: Writable<O>) => void): void {
    this.edits.push(edit)
  }

  finalizers(edit: FinalizerEdit): void {
    this.finalizerEdits.push(edit)
  }

  afterwards(done: () => void): void {
    this.#callbacks ??= []
    this.#callbacks.push(done)
  }

  sent(): void {
    for (const done of this.#callbacks ?? []) done()
  }
}

export const createPatch = <O extends KubeObject>(): PatchRecord<O> => new Recorder()

export const isEmpty = (part: Json): boolean => {
  for (const _ in part) return false
  return true
}
