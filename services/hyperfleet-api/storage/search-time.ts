import type { DatabaseSync } from 'node:sqlite'
import { Problem } from '../problems/problem.ts'

/** The function of SQLite that clauses ask; see `whileInTime`. */
export const IN_TIME = 'is_search_in_time'

/** Milliseconds that tests of what is stored may hold this process in one statement; one that is under way goes on to its end. */
const SEARCH_TIME_MS = 1_000

/**
 * Bounds how long a search holds the process (API-99): nothing else is answered meanwhile.
 * @returns to be called before each statement
 */
export const limitSearchTime = (database: DatabaseSync): (() => void) => {
  let deadline = Infinity
  database.function(IN_TIME, { directOnly: true }, () => {
    if (performance.now() > deadline)
      throw new Problem(
        'badRequest',
        `search: takes longer than ${SEARCH_TIME_MS / 1_000} s on SQLite; write fewer and shorter tests of spec and with like, and narrow by labels, name or owner`,
      )
    return 1
  })
  return () => {
    deadline = performance.now() + SEARCH_TIME_MS
  }
}
