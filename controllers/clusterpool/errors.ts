import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of cluster pools: what has happened, and what to do. */
export const CLUSTERPOOL_ERRORS = {
  StaleWriteError: {
    when: 'an object changed since the pass read it, so its step does not apply',
    remedy: 'nothing: the next pass decides anew',
  },
  ClusterRejectedError: {
    when: 'the API server refuses a cluster of the pool as it was rendered',
    remedy: 'correct the pool, its inventory entry or the policy that the message names',
  },
} satisfies ErrorCatalogue

export type ClusterPoolErrors = typeof CLUSTERPOOL_ERRORS
