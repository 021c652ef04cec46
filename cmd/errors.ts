import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of the command line: what has happened, and what to do. */
export const CMD_ERRORS = {
  UsageError: {
    when: "what was typed can't be meant; the exit code is 2",
    remedy: 'write what the message says; --help lists what there is',
    inMessage: true,
  },
  Failure: {
    when: 'what was typed is fine, its surroundings are not; the exit code is 1',
    remedy: 'correct what the message names',
    inMessage: true,
  },
  LookFailure: {
    when: 'what a command was to look at could not be looked at, so nothing is known of it; the exit code is 3',
    remedy: 'correct what the message names, and look again',
    inMessage: true,
  },
} satisfies ErrorCatalogue
