import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of the agent of devices: what has happened, and what to do. */
export const AGENT_ERRORS = {
  LaunchError: {
    when: "a program can't be started as it is written",
    remedy: 'correct its command or workingDirectory, as the message says',
  },
  ProgramsError: {
    when: 'programs could not reach their folders, or could read what is not theirs',
    remedy: 'change the folder or the file that the message names, or give --program-user=self',
    inMessage: true,
  },
  LockedError: {
    when: 'another agent uses the folder',
    remedy: 'end that agent, or give this one a --state-dir of its own',
  },
  CredentialsError: {
    when: 'a file holds no credentials for NATS',
    remedy: 'give the file that the message describes',
    inMessage: true,
  },
  RefusedError: {
    when: 'NATS answers and does not let the device in',
    remedy: 'check --nats-credentials; make them anew with `muster fleet credentials`',
    inMessage: true,
  },
  NoNamespaceError: {
    when: 'an object of a kind with namespaces names none',
    remedy: 'write metadata.namespace in the manifest',
  },
} satisfies ErrorCatalogue
