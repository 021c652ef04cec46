/** What tests on real servers import: `#test/harness/index.ts`. */
export { type ManualClock, manualClock } from './clock.ts'
export { RestError } from './connection.ts'
export { type ControlPlane, type OwnControlPlane, sharedControlPlane, startControlPlane } from './controlplane.ts'
export { type LogLine, type MusterProcess, startMuster } from './muster.ts'
export type { Fate, ProxiedRequest, RequestProxy } from './request-proxy.ts'
export { postgresMissing, startNats, startPostgres } from './servers.ts'
export { type TcpProxy, tcpProxy } from './tcp-proxy.ts'
