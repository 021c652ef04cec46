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
  PreflightError: {
    when: 'the API name of a cluster does not resolve, or something answers there already; the customization is not leased',
    remedy:
      'add the name to DNS, take down what answers there, or correct the customization; it is tried again by itself',
  },
  StrangeNamespaceError: {
    when: 'a namespace carries the label with the uid of a pool that did not make it; it is left alone',
    remedy: 'take the label off the namespace that the message names',
  },
} satisfies ErrorCatalogue
