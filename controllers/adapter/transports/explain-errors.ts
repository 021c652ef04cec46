import type { TaskError } from '../run/task-error.ts'

/** What failed, when nothing more exact is known. */
export type OperationFailure = 'ApplyFailed' | 'DiscoveryFailed' | 'DeleteFailed'

/** What a transport says of an error: undefined for one that is not of its making. */
export type Explanation = (error: unknown, otherwise: OperationFailure, what: string) => TaskError | undefined

/**
 * Runs one operation of a transport, and says in every error what was to be done.
 * @throws TaskError, the signal's reason when it was broken off, or an error that the transport can't explain
 */
export const explainErrors =
  (explain: Explanation) =>
  async <T>(otherwise: OperationFailure, what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      throw explain(error, otherwise, what) ?? error
    }
  }
