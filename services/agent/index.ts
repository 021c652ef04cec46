/** The agent for others in this program: `muster agent`, and the controller that makes clusters devices. */
export { type AgentOptions, runAgent } from './agent.ts'
export { LockedError } from './lock.ts'
export { authenticatorOf, CredentialsError } from './nats/credentials.ts'
export { connectTo, RefusedError } from './nats/link.ts'
