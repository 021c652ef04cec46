import type { KubeObject } from '../model/resource.ts'
import { isAtLeastAsNew } from '../model/resource-version.ts'
import type { ObjectState } from './object-state.ts'
import type { SentPatch } from './send-patch.ts'

/**
 * Notes which changes of an object are our own (RUNTIME-22): they wake no handler as changes of others do, and handlers wait until
 * the watch shows the last of them.
 * @param until how long handlers wait, on the clock's monotonic time in milliseconds
 */
export const recordOwnWrites = <O extends KubeObject>(
  state: ObjectState<O>,
  { revisions, overtaken }: Pick<SentPatch<O>, 'revisions' | 'overtaken'>,
  until: number,
): void => {
  for (const revision of overtaken ? [] : revisions) {
    // The watch may be quicker than the answer to our own request.
    if (state.pendingChanges?.delete(revision)) {
      state.ownWriteSeen = true
      if (state.pendingChanges.size === 0) state.pendingChanges = undefined
    } else if (!isAtLeastAsNew(state.object.metadata.resourceVersion, revision)) {
      state.ownWrites ??= new Set()
      state.ownWrites.add(revision)
    }
  }
  const last = revisions.at(-1)
  if (last !== undefined && !isAtLeastAsNew(state.object.metadata.resourceVersion, last)) {
    state.awaitedWrite = { revision: last, until }
  }
}
