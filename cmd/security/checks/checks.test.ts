import { describe, expect, test } from 'vitest'
import type { Check, Container, KindName, Objects, Rule } from '../model.ts'
import { KINDS } from '../observe.ts'
import { exitCodeOfReport, runChecks } from '../report.ts'
import { grantsOf } from './grants.ts'
import { allChecks } from './index.ts'

const NAMESPACE = 'hyperfleet-system'

/** Objects as written here; every other kind has none. */
const objects = (given: Partial<Record<KindName, readonly object[]>>): Objects =>
  Object.fromEntries((Object.keys(KINDS) as KindName[]).map((kind) => [kind, given[kind] ?? []])) as unknown as Objects

/** What one check says of them, with nothing shipped but what is given. */
const found = (
  id: string,
  given: Partial<Record<KindName, readonly object[]>>,
  { shipped = {}, trustedSubjects = [] }: { shipped?: typeof given; trustedSubjects?: readonly string[] } = {},
): readonly string[] => {
  const check = allChecks({ trustedSubjects }).find((each) => each.id === id)
  if (check === undefined) throw new Error(`there is no check ${id}`)
  return check
    .find(objects(given), [{ folder: 'kustomize/base', objects: objects(shipped) }])
    .map(({ where, what }) => `${where}: ${what}`)
}

const SECRETS: Rule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }

/** A ClusterRole with rules, and its binding. */
const bound = (rules: readonly Rule[], ...subjects: readonly object[]) => ({
  ClusterRole: [{ metadata: { name: 'r' }, rules }],
  ClusterRoleBinding: [{ metadata: { name: 'b' }, roleRef: { kind: 'ClusterRole', name: 'r' }, subjects }],
})

const ALL: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }

describe('rights', () => {
  test.each<[string, Rule, readonly string[]]>([
    ['a verb', { apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] }, ['create *']],
    ['every verb', { apiGroups: [''], resources: ['pods/exec'], verbs: ['*'] }, ['create *', 'get *']],
    ['every subresource of that name', { apiGroups: ['*'], resources: ['*/exec'], verbs: ['get'] }, ['get *']],
    [
      'names',
      { apiGroups: [''], resources: ['pods/exec'], resourceNames: ['a', 'b'], verbs: ['get'] },
      ['get a', 'get b'],
    ],
    ['the resource without its subresource', { apiGroups: [''], resources: ['pods'], verbs: ['*'] }, []],
    ['another group', { apiGroups: ['apps'], resources: ['*'], verbs: ['*'] }, []],
  ])('a rule with %s allows what Kubernetes allows by it', (_, rule, allowed) => {
    const grants = grantsOf([rule], [{ resources: ['pods:exec'], verbs: ['create', 'get'] }])
    expect(grants.map(({ verb, name }) => `${verb} ${name}`)).toEqual(allowed)
  })

  test('an administrator, and Kubernetes itself, is no finding; all users as administrators, or an account of Muster, is one', () => {
    const subjects = [
      { kind: 'User', name: 'root' },
      { kind: 'Group', name: 'system:masters' },
      { kind: 'ServiceAccount', name: 'job-controller', namespace: 'kube-system' },
    ]
    expect(found('rights-secrets', bound([ALL], ...subjects))).toEqual([])
    const others = [
      { kind: 'Group', name: 'system:authenticated' },
      { kind: 'ServiceAccount', name: 'task', namespace: NAMESPACE },
    ]
    expect(found('rights-secrets', bound([ALL], ...others))).toEqual([
      'ClusterRoleBinding b: group:system:authenticated may get, list, watch, create, update, patch, delete, deletecollection secrets',
      'ClusterRoleBinding b: system:serviceaccount:hyperfleet-system:task may get, list, watch, create, update, patch, delete, deletecollection secrets',
    ])
  })

  test('what the install ships is no finding, in one namespace when it is shipped for one, and of names when for names', () => {
    const account = { kind: 'ServiceAccount', name: 'nats', namespace: NAMESPACE }
    const role = (rules: readonly Rule[]) => ({
      Role: [{ metadata: { name: 'r', namespace: NAMESPACE }, rules }],
      RoleBinding: [
        { metadata: { name: 'b', namespace: NAMESPACE }, roleRef: { kind: 'Role', name: 'r' }, subjects: [account] },
      ],
    })
    const shipped = role([{ ...SECRETS, resourceNames: ['seed'] }])
    expect(found('rights-secrets', shipped, { shipped })).toEqual([])
    expect(found('rights-secrets', role([SECRETS]), { shipped })).toHaveLength(1)
    expect(
      found('rights-secrets', bound([{ ...SECRETS, resourceNames: ['seed'] }], account), { shipped }),
    ).toHaveLength(1)
    expect(found('rights-secrets', role([SECRETS]), { shipped: bound([SECRETS], account) })).toEqual([])
  })

  test('SECURITY-13: pools may bind the rights of a provider whose account is a task’s, and only pools', () => {
    const binding = (metadata: object, account: string, namespace = NAMESPACE) => {
      const bind = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['bind'] }
      const given = bound([{ ...bind, resourceNames: ['acme'] }], { kind: 'ServiceAccount', name: account, namespace })
      return { ...given, ClusterRole: [...given.ClusterRole, { metadata: { name: 'acme', ...metadata } }] }
    }
    const of = (account: string) => ({
      labels: { 'muster.dev/provider': 'acme' },
      annotations: { 'muster.dev/provider-account': account },
    })
    const report = (...given: Parameters<typeof binding>) => found('rights-roles', binding(...given))
    expect(report(of('hyperfleet-tasks/cluster-acme'), 'hyperfleet-clusterpool')).toEqual([])
    expect(report(of('hyperfleet-tasks/cluster-acme'), 'hyperfleet-adapter')).toHaveLength(1)
    expect(report(of('hyperfleet-tasks/cluster-acme'), 'hyperfleet-clusterpool', 'default')).toHaveLength(1)
    expect(report(of('hyperfleet-system/hyperfleet-adapter'), 'hyperfleet-clusterpool')).toHaveLength(1)
    expect(report({}, 'hyperfleet-clusterpool')).toHaveLength(1)
  })

  describe('SECURITY-18: the rights of a provider, beside its clusters', () => {
    const of = (
      rules: readonly Rule[],
      { name = 'acme', provider = 'acme', account = 'hyperfleet-tasks/cluster-acme' } = {},
    ) => {
      const bind = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['bind'] }
      const pools = { kind: 'ServiceAccount', name: 'hyperfleet-clusterpool', namespace: NAMESPACE }
      const given = bound([{ ...bind, resourceNames: ['acme'] }], pools)
      const metadata = {
        name,
        labels: { 'muster.dev/provider': provider },
        annotations: { 'muster.dev/provider-account': account },
      }
      return { ...given, ClusterRole: [...given.ClusterRole, { metadata, rules }] }
    }
    const report = (...given: Parameters<typeof of>) => found('rights-providers', of(...given))
    const START = 'ClusterRole acme: beside the clusters of acme, system:serviceaccount:hyperfleet-tasks:cluster-acme'
    const RBAC = ['rbac.authorization.k8s.io']
    const HIVE = ['hive.openshift.io']
    const binds: Rule = { apiGroups: RBAC, resources: ['rolebindings'], verbs: ['create'] }

    test.each<[Rule, string]>([
      [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }, 'has * in a rule'],
      [{ apiGroups: ['*'], resources: ['widgets'], verbs: ['get'] }, 'has * in a rule'],
      [{ apiGroups: ['apps'], resources: ['*/scale'], verbs: ['get'] }, 'has * in a rule'],
      [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }, 'may list secrets'],
      [{ apiGroups: RBAC, resources: ['rolebindings'], verbs: ['create'] }, 'may create rolebindings'],
      [{ apiGroups: RBAC, resources: ['roles'], verbs: ['patch', 'escalate'] }, 'may patch, escalate roles'],
      [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] }, 'may create pods/exec'],
      [
        { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
        'may create serviceaccounts/token',
      ],
      [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }, 'may impersonate users'],
      [
        { apiGroups: [''], resources: ['pods/proxy', 'services/proxy'], verbs: ['get'] },
        'may get pods/proxy; get services/proxy',
      ],
      [{ apiGroups: HIVE, resources: ['clusterdeployments'], verbs: ['get', 'patch'] }, 'may patch clusterdeployments'],
      ...['assignment', 'finalizers', 'status'].map((part): [Rule, string] => [
        { apiGroups: HIVE, resources: [`clusterdeployments/${part}`], verbs: ['update'] },
        `may update clusterdeployments/${part}`,
      ]),
    ])('%j is a finding', (rule, what) => {
      expect(report([rule])).toEqual([`${START} ${what}`])
    })

    test('what its task makes is none, nor what is shipped', () => {
      const jobs: Rule = { apiGroups: ['batch'], resources: ['jobs'], verbs: ['create', 'patch', 'delete'] }
      expect(report([SECRETS, jobs])).toEqual([])
      expect(found('rights-providers', of([binds]), { shipped: of([binds]) })).toEqual([])
    })

    test('it is one without the verb bind, too: pools bind what they have themselves', () => {
      expect(report([binds], { name: 'another' })).toHaveLength(1)
    })

    test('SECURITY-19: what is shipped is one where it lets in another account, which no policy holds, or beside other clusters', () => {
      for (const rules of [[binds], [SECRETS]]) {
        const against = (more: object) => found('rights-providers', of(rules, more), { shipped: of(rules) })
        expect(against({ account: 'hyperfleet-tasks/other' })).toEqual([
          'ClusterRole acme: beside the clusters of acme, system:serviceaccount:hyperfleet-tasks:other has what system:serviceaccount:hyperfleet-tasks:cluster-acme has beside those of acme, by a policy that holds that one',
        ])
        expect(against({ provider: 'other' })).toHaveLength(1)
      }
    })

    test('what is shipped for no provider is one when it becomes a provider’s', () => {
      const role = { ClusterRole: [{ metadata: { name: 'acme' }, rules: [binds] }] }
      expect(found('rights-providers', of([binds]), { shipped: role })).toHaveLength(1)
    })
  })

  test('who is trusted is named as RBAC names it', () => {
    const given = bound([SECRETS], { kind: 'Group', name: 'audit' })
    expect(found('rights-secrets', given, { trustedSubjects: ['audit'] })).toHaveLength(1)
    expect(found('rights-secrets', given, { trustedSubjects: ['group:audit'] })).toEqual([])
  })
})

const deployment = (name: string, container: Partial<Container>) => ({
  Deployment: [{ metadata: { name }, spec: { template: { spec: { containers: [{ name: 'one', ...container }] } } } }],
})

/** SECURITY-11. */
describe('the administrator of the API', () => {
  const said = (roles: string) =>
    found('api-administrators', deployment('api', { args: ['api', `--auth-roles=a=reader, ${roles} ,b=editor`] }))

  test.each([
    'system:serviceaccount:hyperfleet-system:x=admin',
    'system:serviceaccount:hyperfleet-system:x=reader+admin',
    'system:serviceaccount:hyperfleet-system:x=admin + reader',
    'system:serviceaccount:hyperfleet-system:hyperfleet-developer=admin',
  ])('is a finding where editors of Muster’s namespace have its tokens: %s', (roles) => {
    expect(said(roles)).toHaveLength(1)
  })

  test.each([
    'system:serviceaccount:hyperfleet-admin:hyperfleet-admin=admin',
    'system:serviceaccount:hyperfleet-system:x=reader+adapter',
    'group:admin=reader',
  ])('is none elsewhere: %s', (roles) => {
    expect(said(roles)).toEqual([])
  })

  test('has its tokens from those that are named, by bindings in its namespace', () => {
    const token: Rule = { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] }
    const place = { namespace: 'hyperfleet-admin' }
    const given = {
      Role: [{ metadata: { name: 'r', ...place }, rules: [token] }],
      RoleBinding: [
        {
          metadata: { name: 'b', ...place },
          roleRef: { kind: 'Role', name: 'r' },
          subjects: [{ kind: 'Group', name: 'on-call' }],
        },
      ],
    }
    expect(found('rights-administrator', given)).toEqual([
      'RoleBinding hyperfleet-admin/b: group:on-call may create serviceaccounts/token',
    ])
    expect(found('rights-administrator', given, { trustedSubjects: ['group:on-call'] })).toEqual([])
    // It is no right in Muster's namespace, where a Role of that name may give another one.
    expect(found('rights-impersonate', given)).toEqual([])
  })
})

describe('settings', () => {
  test.each<[string, Partial<Container>]>([
    ['a toggle', { args: ['api', '--auth-kubernetes'] }],
    ['an argument', { args: ['api', '--auth-issuer=https://issuer'] }],
    ['two words', { command: ['/usr/local/bin/muster', 'api'], args: ['--auth-issuer', 'https://issuer'] }],
    ['a variable', { args: ['api'], env: [{ name: 'MUSTER_AUTH_ISSUER', value: 'https://issuer' }] }],
    ['a variable from elsewhere', { args: ['api'], env: [{ name: 'MUSTER_AUTH_ISSUER' }] }],
    ['a file that may say it', { args: ['api', '--config=/etc/muster/config.yaml'] }],
    ['another program', { command: ['sh'], args: ['api'] }],
  ])('an API asks for tokens by %s', (_, container) => {
    expect(found('api-authentication', deployment('api', container))).toEqual([])
  })

  test.each<[string, Partial<Container>]>([
    ['none', { args: ['api'] }],
    ['a toggle that is off', { args: ['api', '--auth-kubernetes=false'] }],
  ])('an API asks for no token by %s', (_, container) => {
    expect(found('api-authentication', deployment('api', container))).toHaveLength(1)
  })

  test.each([['/var/run/secrets/hyperfleet'], ['/var'], ['/'], ['/etc/nats/seed']])('tasks may not read %s', (path) => {
    const args = ['manager', '--controllers=adapter', `--adapter-files=/data,${path}`]
    expect(found('task-files', deployment('adapter', { args }))).toHaveLength(1)
  })

  test.each([['/data'], ['/var/running'], ['']])('tasks may read %s', (path) => {
    expect(found('task-files', deployment('adapter', { args: ['manager', `--adapter-files=${path}`] }))).toEqual([])
  })
})

describe('traffic', () => {
  const policy = (name: string, spec: object, ...namespaces: readonly string[]) => ({
    NetworkPolicy: [NAMESPACE, ...namespaces].map((namespace) => ({
      metadata: { name, namespace },
      spec: { podSelector: {}, ...spec },
    })),
  })
  const anywhere = [{ ipBlock: { cidr: '0.0.0.0/0' } }]

  test('devices may come to NATS from anywhere, at its port alone', () => {
    const from = (ports: readonly object[]) => policy('nats-devices', { ingress: [{ from: anywhere, ports }] })
    expect(found('open-traffic', from([{ port: 4222, protocol: 'TCP' }]))).toEqual([])
    expect(found('open-traffic', from([{ port: 8222 }]))).toEqual([
      'NetworkPolicy hyperfleet-system/nats-devices: ingress from anywhere, at 8222',
    ])
    expect(found('open-traffic', from([]))).toHaveLength(1)
  })

  test('what the install opens is no finding under its own name and for its own pods', () => {
    const shipped = policy('api-server', { egress: [{ ports: [{ port: 443 }] }] })
    expect(found('open-traffic', shipped, { shipped })).toEqual([])
    expect(found('open-traffic', policy('mine', { egress: [{ ports: [{ port: 443 }] }] }), { shipped })).toHaveLength(1)
  })

  test('a policy of some pods closes nothing for the others', () => {
    const types = { policyTypes: ['Ingress', 'Egress'] }
    const some = policy('some', { ...types, podSelector: { matchLabels: { app: 'api' } } })
    expect(found('default-deny', some)).toHaveLength(4)
    expect(found('default-deny', policy('all', types, 'hyperfleet-work'))).toEqual([])
  })

  test('both directions are closed where tasks run pods, too; which ways an overlay opens there is its own', () => {
    expect(found('default-deny', policy('all', { policyTypes: ['Ingress', 'Egress'] }))).toEqual([
      'NetworkPolicy hyperfleet-work/default-deny: no policy of all pods has the type Ingress: what no other policy names is open',
      'NetworkPolicy hyperfleet-work/default-deny: no policy of all pods has the type Egress: what no other policy names is open',
    ])
    const opened = { metadata: { name: 'mine', namespace: 'hyperfleet-work' }, spec: { podSelector: {}, egress: [{}] } }
    expect(found('open-traffic', { NetworkPolicy: [opened] })).toEqual([])
  })
})

describe('projects of Argo CD', () => {
  const project = (spec: object) => ({ AppProject: [{ metadata: { name: 'muster-declared' }, spec }] })
  const shipped = project({
    destinations: [{ namespace: NAMESPACE }],
    namespaceResourceWhitelist: [{ group: 'hive.openshift.io', kind: 'ClusterPool' }],
  })
  const said = (spec: object) => found('argocd-projects', project(spec), { shipped })

  test('an administrator may add what gives no rights, and namespaces of teams', () => {
    const namespaceResourceWhitelist = [{ group: 'external-secrets.io', kind: 'ExternalSecret' }]
    expect(said({ namespaceResourceWhitelist, destinations: [{ namespace: 'team-a' }] })).toEqual([])
  })

  test.each<[string, object]>([
    ['no list', {}],
    ['Secrets', { namespaceResourceWhitelist: [{ group: '', kind: 'Secret' }] }],
    ['a pattern', { namespaceResourceWhitelist: [{ group: 'rbac*', kind: 'Role' }] }],
    [
      'rights in the cluster',
      { namespaceResourceWhitelist: [], clusterResourceWhitelist: [{ group: '*', kind: '*' }] },
    ],
    ['the namespace of Argo CD', { namespaceResourceWhitelist: [], destinations: [{ namespace: 'argocd' }] }],
    ['every namespace', { namespaceResourceWhitelist: [], destinations: [{ server: '*' }] }],
  ])('a project with %s is a finding', (_, spec) => {
    expect(said(spec)).toHaveLength(1)
  })
})

describe('NATS', () => {
  const nats = (conf: string) => ({
    StatefulSet: [
      {
        metadata: { name: 'nats' },
        spec: {
          template: {
            spec: {
              initContainers: [{ name: 'users', args: ['nats', '--output=/etc/muster-nats'] }],
              containers: [{ name: 'nats', args: ['--config=/etc/nats/nats.conf'] }],
              volumes: [{ name: 'config', configMap: { name: 'nats-abc' } }],
            },
          },
        },
      },
    ],
    ConfigMap: [{ metadata: { name: 'nats-abc' }, data: { 'nats.conf': conf } }],
  })

  test.each([
    ['include ../muster-nats/users.conf\nport: 4222\n', 0],
    ['# include users.conf\nport: 4222\n', 1],
    ['include users.conf\nno_auth_user: guest\n', 1],
    ['include users.conf\nwebsocket { port: 80, no_tls: true }\n', 1],
  ])('the configuration %j has %i findings', (conf, count) => {
    expect(found('nats-users', nats(conf))).toHaveLength(count)
  })
})

/** SECURITY-12. */
describe('entries of devices', () => {
  const device = (name: string, reason?: string) => ({
    metadata: { name },
    status: reason === undefined ? {} : { conditions: [{ type: 'EntriesVerified', status: 'False', reason }] },
  })

  test('of devices that take unsigned ones five are named, and the others counted', () => {
    const open = ['g', 'a', 'f', 'b', 'e', 'c', 'd'].map((name) => device(name, 'NoPublicKeys'))
    const others = [device('x', 'KeyKnown'), device('y', 'KeyUnknown'), device('z')]
    expect(found('device-entries', { Device: [...others, ...open] })).toEqual([
      'Device a, b, c, d, e and 2 more: the agent has no public keys of the fleet, and so takes entries without a signature',
    ])
    expect(found('device-entries', { Device: others })).toEqual([])
  })

  test('SECURITY-31: those that also take a former key are named by themselves', () => {
    expect(found('device-entries', { Device: [device('a', 'NoPublicKeys'), device('b', 'OtherKeys')] })).toEqual([
      'Device a: the agent has no public keys of the fleet, and so takes entries without a signature',
      'Device b: the agent also takes what another key has signed, such as a former one, which may be in wrong hands',
    ])
  })

  test.each<[string, readonly string[], number]>([
    ['with keys', ['manager', '--controllers=fleet', '--fleet-signing-keys=/etc/fleet-signing/keys.pem'], 0],
    ['without keys', ['manager', '--controllers=sentinel,fleet'], 1],
    ['that is none', ['manager', '--controllers=sentinel'], 0],
  ])('of an operator %s', (_, args, count) => {
    expect(found('entry-signing', deployment('fleet', { args }))).toHaveLength(count)
  })
})

/** SECURITY-26. */
describe('what devices say', () => {
  const device = (name: string, status: string, reason: string) => ({
    metadata: { name },
    status: { conditions: [{ type: 'InfoVerified', status, reason }] },
  })

  test('devices whose agents sign nothing are told apart from those in whose place another speaks', () => {
    const Device = [
      device('old', 'False', 'NotSigned'),
      device('forged', 'False', 'NotItsOwn'),
      device('back', 'False', 'Outdated'),
      device('well', 'True', 'Signed'),
      device('free', 'Unknown', 'NotChecked'),
    ]
    expect(found('device-infos', { Device })).toEqual([
      expect.stringContaining('Device back, forged: what stands in fleet-info is not what its agent signed'),
      expect.stringContaining('Device old: the agent signs nothing'),
    ])
    expect(found('device-infos', { Device: Device.slice(3) })).toEqual([])
  })

  test.each<[string, readonly string[], number]>([
    ['with the keys of devices', ['manager', '--controllers=fleet', '--fleet-device-keys=/etc/nats-devices'], 0],
    ['without them', ['manager', '--controllers=sentinel,fleet'], 1],
    ['that is none', ['manager', '--controllers=sentinel'], 0],
  ])('of an operator %s', (_, args, count) => {
    expect(found('info-keys', deployment('fleet', { args }))).toHaveLength(count)
  })
})

test('SECURITY-17: of a namespace of a cluster that takes any pod it is told which flag makes all of them so', () => {
  const labels = { 'hive.openshift.io/clusterpool-uid': 'u', 'pod-security.kubernetes.io/enforce': 'privileged' }
  const check = allChecks({ trustedSubjects: [] }).find(({ id }) => id === 'cluster-namespaces')
  const [finding] =
    check?.find(objects({ Namespace: [{ metadata: { name: 'edge-1', labels } }] }), [
      { folder: 'kustomize/base', objects: objects({}) },
    ]) ?? []
  expect(finding?.todo).toContain('--clusterpool-pod-security=privileged')
})

describe('SECURITY-27: what says that it is a pool’s', () => {
  const [uid, name, namespace] = (['uid', 'name', 'namespace'] as const).map(
    (what) => `hive.openshift.io/clusterpool-${what}`,
  )
  const ClusterPool = [{ metadata: { name: 'edge', namespace: NAMESPACE, uid: 'u1' } }]
  const place = (labels: object, managedFields: readonly object[] = []) => [
    { metadata: { name: 'edge-1', labels, managedFields, creationTimestamp: '2026-01-01T00:00:00Z' } },
  ]
  const byPools = {
    manager: 'muster',
    operation: 'Update',
    time: '2026-01-01T00:00:00Z',
    fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${uid}`]: {} } } },
  }

  test.each<[string, object, readonly object[], number]>([
    ['that its pool made', { [`${uid}`]: 'u1' }, [byPools], 0],
    ['that was made beforehand', { [`${uid}`]: 'u1' }, [{ ...byPools, manager: 'kubectl' }], 1],
    ['that was labelled later', { [`${uid}`]: 'u1' }, [{ ...byPools, time: '2026-01-02T00:00:00Z' }], 1],
    ['from a backup, which names the pool as it was', { [`${uid}`]: 'u0' }, [], 0],
  ])('a namespace %s', (_, labels, fields, count) => {
    expect(found('pool-namespaces', { ClusterPool, Namespace: place(labels, fields) })).toHaveLength(count)
  })

  test.each<[string, object, number]>([
    ['of its pool', { [`${uid}`]: 'u1' }, 0],
    ['of its pool as it was', { [`${uid}`]: 'u0', [`${name}`]: 'edge', [`${namespace}`]: NAMESPACE }, 0],
    ['of another pool', { [`${uid}`]: 'u2', [`${name}`]: 'other', [`${namespace}`]: NAMESPACE }, 1],
    ['of a pool of its name elsewhere', { [`${uid}`]: 'u2', [`${name}`]: 'edge', [`${namespace}`]: 'x' }, 1],
    ['that no pool made', {}, 1],
  ])('a cluster in a namespace %s', (_, labels, count) => {
    const clusterPoolRef = { namespace: NAMESPACE, poolName: 'edge' }
    const ClusterDeployment = [
      { metadata: { name: 'c', namespace: 'edge-1' }, spec: { clusterPoolRef } },
      { metadata: { name: 'of-no-pool', namespace: 'default' }, spec: {} },
    ]
    expect(found('pool-clusters', { ClusterPool, ClusterDeployment, Namespace: place(labels) })).toHaveLength(count)
  })
})

/** SECURITY-2. */
describe('a report', () => {
  const checks: readonly Check[] = allChecks({ trustedSubjects: [] }).filter(({ id }) => id === 'namespace')
  const namespace = (labels: object) => [{ metadata: { name: NAMESPACE, labels } }]
  const reportOf = (seen: unknown) =>
    runChecks(checks, { ...objects({}), Namespace: seen } as never, [{ folder: '', objects: objects({}) }])

  test.each<[string, unknown, number]>([
    ['nothing was found', namespace({ 'pod-security.kubernetes.io/enforce': 'restricted' }), 0],
    ['something was', namespace({}), 1],
    ['it could not be read', { unread: 'forbidden' }, 3],
  ])('when %s', (_, seen, code) => {
    expect(exitCodeOfReport(reportOf(seen))).toBe(code)
  })
})
