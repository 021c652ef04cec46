import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of the Sentinel: what has happened, and what to do. */
export const SENTINEL_ERRORS = {
  SettingsError: {
    when: "the spec of a SentinelConfig can't be run",
    remedy: 'correct the field that the message names',
  },
  MalformedResource: {
    when: "the HyperFleet API listed a resource that can't be judged; it is left out",
    remedy: "look at the field of the resource that the message names, and at the API's version",
  },
} satisfies ErrorCatalogue
