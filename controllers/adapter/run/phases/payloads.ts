/** Phase 4: builds the documents that post actions send. */

import type { Progress } from '../run-state.ts'
import { isTrue } from './preconditions.ts'

/** Builds them in order until one fails; then none is sent. */
export const buildPayloads = (progress: Progress): void => {
  for (const { name, when, build, whenDeleting } of progress.task.payloads) {
    try {
      if (when !== undefined && !isTrue(when.text, when.evaluate(progress.scope))) {
        progress.payloads.push({ name, skipped: true })
        continue
      }
      const tree = progress.mode === 'delete' ? (whenDeleting ?? build) : build
      const value = tree.build(progress.scope)
      progress.values[name] = JSON.stringify(value)
      progress.payloads.push({ name, skipped: false, value })
    } catch (error) {
      progress.fail('payloads', name, error)
      return
    }
  }
}
