/** The agent for others in this program: `muster agent`, and the controller that makes clusters devices. */
export { runAgent } from './agent.ts'
export { LockedError } from './folder-lock.ts'
export { connectAgent, RefusedError } from './nats/connect.ts'
export { CredentialsError, readAuthenticator } from './nats/credentials.ts'
export { NEEDED_CAPABILITIES } from './process/find-missing-rights.ts'
export { ProgramsError } from './process/open-host.ts'
