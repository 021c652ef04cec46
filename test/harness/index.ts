/** What tests on real servers import: `#test/harness/index.ts`. */
export { type ManualClock, manualClock } from './clock.ts'
export { type ControlPlane, type OwnControlPlane, sharedControlPlane, startControlPlane } from './controlplane.ts'
export { RestError } from './rest.ts'
export { postgresMissing, startNats, startPostgres } from './servers.ts'
