/** Phase 4: builds the documents that post actions send. */

import type { RunState } from '../run-state.ts'
import { isTrue } from './preconditions.ts'

/** Builds them in order until one fails; then none is sent. */
export const buildPayloads = async (state: RunState): Promise<void> => {
  for (const { name, when, build, whenDeleting } of state.task.payloads) {
    await state.budget.giveTurn()
    try {
      if (when !== undefined && !isTrue(when.text, when.evaluate(state.scope))) {
        state.payloads.push({ name, skipped: true })
        continue
      }
      const tree = state.mode === 'delete' ? (whenDeleting ?? build) : build
      const value = tree.build(state.scope)
      state.values[name] = JSON.stringify(value)
      state.payloads.push({ name, skipped: false, value })
    } catch (error) {
      state.fail('payloads', name, error)
      return
    }
  }
}
