import { describe, expect, test } from 'vitest'
import { spelled, variableOf } from '../../flag.ts'
import type { Container, Objects } from '../model.ts'
import { COMMANDS, flagChecks } from './flags.ts'

/** What the checks of flags say of a container, by check. */
const found = (container: Partial<Container>): readonly string[] => {
  const containers = [{ name: 'one', ...container }]
  const workload = { metadata: { name: 'x' }, spec: { template: { spec: { containers } } } }
  const objects = { Deployment: [workload], StatefulSet: [], DaemonSet: [] } as unknown as Objects
  return flagChecks.flatMap(({ id, find }) =>
    find(objects, [{ folder: '', objects }]).map(({ line, what }) => `${id}: ${line.role}: ${what}`),
  )
}
const ofApi = (...args: readonly string[]) => found({ args: ['api', ...args] })
const ofManager = (...args: readonly string[]) => found({ args: ['manager', ...args] })

describe('SECURITY-21: a flag that weakens what holds an install is a finding', () => {
  test.each([
    'group:system:serviceaccounts=admin',
    'group:system:authenticated=adapter',
    'group:system:authenticated=reader',
    'group:system:unauthenticated=reader+editor',
    'a=reader, group:system:serviceaccounts =adapter',
    'group:system:serviceaccounts:hyperfleet-system=admin',
    'group:system:serviceaccounts:default=adapter',
  ])('--auth-roles=%s', (roles) => {
    expect(ofApi(`--auth-roles=${roles}`)).toHaveLength(1)
    expect(found({ args: ['api'], env: [{ name: variableOf('authRoles'), value: roles }] })).toHaveLength(1)
  })

  test.each([
    'group:operators=admin',
    'system:serviceaccount:hyperfleet-admin:hyperfleet-admin=admin',
    'group:system:serviceaccounts:monitoring=reader',
  ])('--auth-roles=%s is none', (roles) => {
    expect(ofApi(`--auth-roles=${roles}`)).toEqual([])
  })

  test.each([
    [
      '--auth-adapters=group:network=*',
      'auth-adapters: adapter identity: by --auth-adapters group:network reports for every adapter',
    ],
    ['--auth-adapters=dns=dns+*', 'auth-adapters: adapter identity: by --auth-adapters dns reports for every adapter'],
    [
      '--auth-consumers=group:network=*',
      'auth-consumers: adapter identity: by --auth-consumers group:network takes the events of every consumer group',
    ],
    ['--rate-limit=0', 'rate-limit: API reader: by --rate-limit nothing limits the requests a second of one caller'],
    [
      '--max-in-flight=0',
      'max-in-flight: API reader: by --max-in-flight nothing limits the requests under way at once',
    ],
    ['--max-streams=0', 'max-streams: API reader: by --max-streams nothing limits the open streams of one caller'],
    [
      '--allow-unauthenticated',
      'allow-unauthenticated: stranger: by --allow-unauthenticated callers without a token are served',
    ],
  ])('%s', (flag, told) => {
    expect(ofApi(flag, '--log-level=info')).toEqual([told])
  })

  test.each([
    '--auth-adapters=group:network=net-*',
    '--rate-limit=10',
    '--allow-unauthenticated=false',
    '--rate-limit=many',
  ])('%s is none', (flag) => {
    expect(ofApi(flag)).toEqual([])
    expect(ofManager(flag)).toEqual([])
  })

  test.each([
    'DATABASE_URL',
    'MUSTER_DATABASE_URL',
    'REGION,DNS_TOKEN',
    'AWS_SECRET_ACCESS_KEY',
    'pgpassword',
    'OIDC_CLIENT_SECRET',
  ])('--adapter-env=%s', (names) => {
    expect(ofManager(`--adapter-env=${names}`)).toHaveLength(1)
  })

  test.each(['REGION,CLOUD_ACCOUNT', '', 'KEYBOARD,TOKENIZER'])('--adapter-env=%s is none', (names) => {
    expect(ofManager(`--adapter-env=${names}`)).toEqual([])
  })

  test.each(['adapter', 'sentinel'])('--%s-http-targets at the API server', (name) => {
    expect(ofManager(`--${name}-http-targets=https://example.com,https://kubernetes.default.svc`)).toHaveLength(1)
    expect(ofManager(`--${name}-http-targets=https://example.com`)).toEqual([])
  })
})

/** Flags that other checks look at: those of settings, of NATS, and of namespaces. */
const ELSEWHERE = [
  'authIssuer',
  'authKubernetes',
  'authTaskAccounts',
  'authDefaultRoles',
  'config',
  'controllers',
  'hyperfleetApiUrl',
  'tlsCertFile',
  'natsUrl',
  'natsCa',
  'adapterNatsServers',
  'adapterAccountsNamespace',
  'adapterFiles',
  'adapterTokenAudience',
  'clusterpoolPodSecurity',
  'clusterpoolPodNetwork',
  'fleetDeviceKeys',
  'fleetSigningKeys',
]

/** Flags by which nothing in the table holds or does not: where something is served or kept, how much is logged, what is worked on. */
const HARMLESS = [
  'bindAddress',
  // Until the next release, for clients that know no HTTPS: ours use none of it, and those that do are found by the addresses that they are given.
  'httpBindAddress',
  'metricsBindAddress',
  'healthProbeBindAddress',
  'webhookBindAddress',
  'webhookHost',
  // Served beyond the machine with TLS, and for those whom Kubernetes lets.
  'dashboardBind',
  'adapterRunsBindAddress',
  'dataDir',
  'databaseUrl',
  'openapiSchemaPath',
  'archiveRetention',
  'stuckAfter',
  'shutdownDelay',
  'otlpEndpoint',
  // What is shown or taken, read from files: without a good one a program is let in nowhere.
  'natsCredentials',
  'adapterNatsCredentials',
  'hyperfleetApiTokenFile',
  'hyperfleetApiCa',
  'tlsKeyFile',
  'clientCaFile',
  // Of an issuer that an administrator has chosen.
  'authJwksUrl',
  'authJwksFile',
  'authCaFile',
  'authAudience',
  'authIdentityClaim',
  'authRolesClaim',
  'namespace',
  'kubeconfig',
  'context',
  'leaderElect',
  'adaptersElsewhere',
  // Refuse more; policies hold without them.
  'denyOverlap',
  'denyInvalidTasks',
  'formerKubernetesUids',
  'clusterDeviceLabels',
  'clusterDeviceStateDir',
  'fleetPublicKeys',
  'deviceLabels',
  'logLevel',
  'logFormat',
]

test('SECURITY-21: of each flag of a command that serves it is known whether a value of it weakens an install', () => {
  const silent = Object.values(COMMANDS).flatMap((flags) =>
    Object.entries(flags)
      .filter(([, { weakness }]) => weakness === undefined)
      .map(([name]) => name),
  )
  const known = new Set([...ELSEWHERE, ...HARMLESS])
  expect(silent.filter((name) => !known.has(name)).map(spelled)).toEqual([])
})
