import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { program } from '#cmd/program.ts'
import { muster } from './run.ts'

const root = join(import.meta.dirname, '../../..')

describe('GITOPS-54: what people know from other programs', () => {
  test.each([
    [['help'], 'Usage: muster [options] [command]'],
    [['help', 'pool'], 'Usage: muster pool [options] [command]'],
    [['help', 'pool', 'plan'], 'Usage: muster pool plan [options] <pool>'],
    [['pool', 'help'], 'Usage: muster pool [options] [command]'],
    [['pool', 'help', 'plan'], 'Usage: muster pool plan [options] <pool>'],
  ])('%j is --help', async (args, usage) => {
    expect(await muster(args)).toEqual({
      code: 0,
      output: expect.stringMatching(new RegExp(`^${RegExp.escape(usage)}`)),
    })
  })

  test.each([
    [['help', 'pol'], 'muster: unknown command pol; did you mean pool?'],
    [['pool', 'help', 'pln'], 'muster: unknown command pln; did you mean plan? (valid: render, plan)'],
  ])('%j names what there is', async (args, output) => {
    expect(await muster(args)).toEqual({
      code: 2,
      output: expect.stringMatching(new RegExp(`^${RegExp.escape(output)}`)),
    })
  })

  test('a claim may be called help', async () => {
    const { output } = await muster(['claim', 'kubeconfig', 'help', '--kubeconfig=/nonexistent'])
    expect(output).toBe('muster: kubeconfig /nonexistent does not exist: name another file')
  })

  test('-n is --namespace of every command that has it', () => {
    const withSubcommands = (command: Command): readonly Command[] => [
      command,
      ...command.commands.flatMap(withSubcommands),
    ]
    const flags = withSubcommands(program())
      .flatMap(({ options }) => options)
      .filter(({ long }) => long === '--namespace')
    expect(flags.length).toBeGreaterThan(5)
    expect(flags.map(({ short }) => short)).toEqual(flags.map(() => '-n'))
  })
})

describe('what can’t be meant ends with code 2 and one line that says what to write', () => {
  test('no command', async () => {
    expect(await muster([])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: name a command (valid: manager, api, adapter, pool, claim, hosted, sentinel, security, agent, fleet, nats, why, migrate, crds, version)",
      }
    `)
  })

  test('an unknown command', async () => {
    expect(await muster(['managr'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: unknown command managr; did you mean manager? (valid: manager, api, adapter, pool, claim, hosted, sentinel, security, agent, fleet, nats, why, migrate, crds, version)",
      }
    `)
    expect(await muster(['frobnicate'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: unknown command frobnicate (valid: manager, api, adapter, pool, claim, hosted, sentinel, security, agent, fleet, nats, why, migrate, crds, version)",
      }
    `)
  })

  test('an unknown flag', async () => {
    expect(await muster(['manager', '--confg=us-east'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: unknown flag --confg; did you mean --config? ("muster manager --help" lists what is)",
      }
    `)
    expect(await muster(['manager', '--frobnicate'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: unknown flag --frobnicate ("muster manager --help" lists what is)",
      }
    `)
  })

  test('a flag without its value', async () => {
    expect(await muster(['manager', '--config'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --config needs a value ("muster manager --help" lists what is)",
      }
    `)
  })

  // ADAPTER-130
  test.each([
    ['a.b', 'hyperfleet-system', `"a.b" is not a namespace's name`],
    [
      'hyperfleet-system',
      'hyperfleet-system',
      'hyperfleet-system has accounts that no task may act as: write hyperfleet-tasks',
    ],
    ['hyperfleet-admin', 'hyperfleet-system', 'hyperfleet-admin has accounts that no task may act as'],
    ['kube-system', 'hyperfleet-system', 'kube-system has accounts that no task may act as'],
    [
      'hyperfleet-tasks',
      'team-a',
      'only tasks of hyperfleet-system have accounts elsewhere, and this manager watches team-a',
    ],
    [
      'team-a',
      'team-a',
      'only tasks of hyperfleet-system have accounts elsewhere, and this manager watches team-a: leave it out',
    ],
    [
      'hyperfleet-tasks',
      '',
      'only tasks of hyperfleet-system have accounts elsewhere, and this manager watches all namespaces',
    ],
  ])('accounts of tasks in the namespace %j, where the manager watches %j', async (accounts, watched, problem) => {
    const args = ['--controllers=adapter', `--namespace=${watched}`, `--adapter-accounts-namespace=${accounts}`]
    const { code, output } = await muster(['manager', ...args])
    expect([code, output]).toEqual([2, expect.stringContaining(`--adapter-accounts-namespace: ${problem}`)])
  })

  test('an argument that is no flag', async () => {
    expect(await muster(['manager', 'sentinel'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: unexpected argument sentinel: everything is said by flags ("muster manager --help" lists what is)",
      }
    `)
  })

  test('GITOPS-54: an argument too many is named alone, and a command that is mistyped is none', async () => {
    expect(await muster(['why', 'clusters/a', 'clusters/b'])).toEqual({
      code: 2,
      output: 'muster: unexpected argument clusters/b: 1 is all that is taken ("muster why --help" lists what is)',
    })
    expect(await muster(['agent', 'enrol'])).toEqual({
      code: 2,
      output: 'muster: unexpected argument enrol; did you mean enroll? ("muster agent --help" lists what is)',
    })
  })

  test('an unknown controller', async () => {
    expect(await muster(['manager', '--controllers=sentinal'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --controllers: "sentinal" is not known; did you mean sentinel? (valid: sentinel, adapter, clusterpool, clusterclaim, clusterdeployment, clusterdevice, fleet)",
      }
    `)
    expect(await muster(['manager', '--controllers='])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --controllers: must name at least one (valid: sentinel, adapter, clusterpool, clusterclaim, clusterdeployment, clusterdevice, fleet)",
      }
    `)
  })

  test('a bad value by variable names the variable', async () => {
    expect(await muster(['manager'], { MUSTER_LOG_LEVEL: 'loud' })).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: MUSTER_LOG_LEVEL: "loud" is not known (valid: debug, info, warn, error)",
      }
    `)
    expect(await muster(['manager'], { MUSTER_LEADER_ELECT: 'maybe' })).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: MUSTER_LEADER_ELECT: "maybe" is neither true nor false",
      }
    `)
  })

  test('a bad address', async () => {
    expect(await muster(['manager', '--metrics-bind-address=8080'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --metrics-bind-address "8080" is not an address: write :8081, 127.0.0.1:8081, or 0 for none",
      }
    `)
  })

  test('a bad name', async () => {
    expect(await muster(['manager', '--config=US_East'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --config: "US_East" is not an object's name: write lower-case letters, digits, "-" and "."",
      }
    `)
  })

  test('a Lease without a namespace', async () => {
    expect(await muster(['manager', '--leader-elect'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --leader-elect: a Lease needs a namespace: give --namespace or POD_NAMESPACE",
      }
    `)
  })

  test('a database URL, whose password is kept out of the message', async () => {
    expect(await muster(['api', '--database-url=mysql://muster:hunter2@db/muster'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --database-url: must be a URL that begins with postgres:// or postgresql://",
      }
    `)
  })

  test('an API that strangers could reach', async () => {
    expect(await muster(['api', '--bind-address=:0', '--data-dir=/nonexistent'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --bind-address: without authentication the API would be open to the network on every interface: name an issuer of tokens (--auth-issuer, --auth-kubernetes), listen on 127.0.0.1, or allow unauthenticated callers on purpose (--allow-unauthenticated)",
      }
    `)
  })

  test.each([
    [
      'an issuer without keys',
      ['--auth-issuer=https://sso.example.com', '--auth-roles=alice=editor'],
      '--auth-issuer: its keys come from one of --auth-jwks-url and --auth-jwks-file',
    ],
    [
      'roles without an issuer',
      ['--auth-roles=alice=editor'],
      '--auth-issuer: the other --auth flags need it, or --auth-kubernetes',
    ],
    [
      'an issuer whose callers have no rights',
      ['--auth-issuer=https://sso.example.com', '--auth-jwks-url=https://sso.example.com/keys'],
      '--auth-issuer: no caller would have a role: name a claim with roles, a mapping, or default roles',
    ],
    [
      'keys over a network without TLS',
      ['--auth-issuer=a', '--auth-jwks-url=http://sso.example.com/keys', '--auth-default-roles=reader'],
      '--auth-issuer: http://sso.example.com/keys: keys come over https, or over http from this machine only',
    ],
    [
      'a role that is none',
      ['--auth-roles=alice=edtor'],
      '--auth-roles: "edtor" is not known; did you mean editor? (valid: reader, editor, adapter, admin)',
    ],
    [
      'a mapping without subjects',
      ['--auth-roles=editor'],
      '--auth-roles: "editor" is no mapping: write SUBJECT=ROLE or group:NAME=ROLE+ROLE',
    ],
    [
      'an adapter’s name with a * in its middle',
      ['--auth-adapters=dns=d*s'],
      '--auth-adapters: "d*s" is no name: write it whole, or its beginning and a * at the end',
    ],
    [
      'consumer groups without authentication',
      ['--auth-consumers=dns=dns'],
      '--auth-issuer: the other --auth flags need it, or --auth-kubernetes',
    ],
    [
      'accounts of tasks without authentication',
      ['--auth-task-accounts=tasks'],
      '--auth-issuer: the other --auth flags need it, or --auth-kubernetes',
    ],
    ['a certificate without its key', ['--tls-cert-file=tls.crt'], '--tls-cert-file: it needs --tls-key-file'],
    [
      'HTTP beside HTTP',
      ['--http-bind-address=:8001'],
      '--http-bind-address: without --tls-cert-file --bind-address is HTTP already: leave it out',
    ],
    [
      'HTTP beside HTTPS whose clients show certificates',
      ['--http-bind-address=:8001', '--tls-cert-file=a', '--tls-key-file=b', '--client-ca-file=c'],
      '--http-bind-address: there no client shows a certificate of --client-ca-file: leave one of the two out',
    ],
    ['a rate that is no number', ['--rate-limit=fast'], '--rate-limit: "fast" is not a whole number from 0'],
  ])('an API with %s', async (_case, args, reason) => {
    expect(await muster(['api', '--data-dir=/nonexistent', ...args])).toEqual({ code: 2, output: `muster: ${reason}` })
  })

  test.each([
    [['--store-dir=/data'], '--store-dir: it needs --former-store-dir'],
    [['--former-store-dir=/data'], '--former-store-dir: it needs --store-dir'],
  ])('a NATS with %s alone, which would move no stream', async (args, reason) => {
    const { code, output } = await muster(['nats', '--output=/nonexistent', ...args])
    expect({ code, output }).toEqual({ code: 2, output: `muster: ${reason}` })
  })

  test('an unknown kind', async () => {
    expect(await muster(['crds', '--kind=sentinelconfg'])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --kind: "sentinelconfg" is not a kind of ours; did you mean SentinelConfig? (valid: Deployment, Device, ClusterClaim, ClusterDeploymentCustomization, ClusterDeployment, ClusterPool, AdapterInventory, AdapterTask, SentinelConfig)",
      }
    `)
  })
})

describe('what is asked for is printed', () => {
  test('the CRDs, as they were generated', async () => {
    const all = await muster(['crds'])
    expect(all.code).toBe(0)
    const one = await muster(['crds', '--kind=sentinelconfigs'])
    expect(one.output).toContain('name: sentinelconfigs.hyperfleet.redhat.com')
    expect(one.output).not.toContain('adaptertasks')
    expect(all.output).toContain(one.output)
  })

  test('the version, also as JSON', async () => {
    const { code, output } = await muster(['version', '--output=json'])
    expect(code).toBe(0)
    expect(JSON.parse(output)).toEqual({
      version: '0.1.0',
      commit: expect.stringMatching(/^([0-9a-f]{40}(-dirty)?|unknown)$/),
      time: expect.stringMatching(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z|unknown)$/),
      node: process.version,
    })
    const text = await muster(['version'])
    expect(text.output).toMatch(/^muster 0\.1\.0 \(commit .+, Node\.js v24\..+\)$/)
    // As most programs have it.
    expect(await muster(['--version'])).toEqual(text)
  })

  test('every flag of the manager with its default and its variable', async () => {
    const { code, output } = await muster(['manager', '--help'])
    expect(code).toBe(0)
    expect(output).toMatchInlineSnapshot(`
      "Usage: muster manager [options]

      run controllers against a Kubernetes API server

      Options:
        --controllers <NAMES>                   which controllers to run, separated by commas: sentinel, adapter, clusterpool, clusterclaim, clusterdeployment, clusterdevice, fleet (default: sentinel,adapter,clusterpool,clusterclaim,clusterdeployment,clusterdevice,fleet; MUSTER_CONTROLLERS)
        -n, --namespace <NAME>                  the namespace to watch; POD_NAMESPACE when not given, all namespaces when empty (default: none; MUSTER_NAMESPACE)
        --metrics-bind-address <ADDRESS>        where /metrics is served; 0 for nowhere (default: :8080; MUSTER_METRICS_BIND_ADDRESS)
        --health-probe-bind-address <ADDRESS>   where /healthz and /readyz are served; 0 for nowhere (default: :8081; MUSTER_HEALTH_PROBE_BIND_ADDRESS)
        --kubeconfig <FILE>                     kubeconfig to use (default: KUBECONFIG, ~/.kube/config, the pod’s account) (MUSTER_KUBECONFIG)
        --context <NAME>                        context of the kubeconfig to use (default: its current one) (MUSTER_CONTEXT)
        --leader-elect [BOOL]                   work only while holding a lease, so that further replicas stand by (default: false; MUSTER_LEADER_ELECT)
        --webhook-bind-address <ADDRESS>        where the webhooks of --deny-… are served (default: :9443; MUSTER_WEBHOOK_BIND_ADDRESS)
        --webhook-host <HOST>                   how the API server reaches the webhooks (default: their Services’ names) (MUSTER_WEBHOOK_HOST)
        --hyperfleet-api-url <URL>              the HyperFleet API, without a path: that of ClusterDeployments, of SentinelConfigs that name none, and the only one that gets the token (default: https://hyperfleet-api.hyperfleet-system.svc.cluster.local; MUSTER_HYPERFLEET_API_URL)
        --hyperfleet-api-token-file <FILE>      file with the bearer token for the HyperFleet API, read for every request (MUSTER_HYPERFLEET_API_TOKEN_FILE)
        --hyperfleet-api-ca <FILE>              certificates of the authorities that the one of the HyperFleet API is of, PEM (default: those of the machine), read for each connection (MUSTER_HYPERFLEET_API_CA)
        --dashboard-bind <ADDRESS>              where the dashboard is served; with TLS, and for those whom Kubernetes lets, on any address but this machine’s own; empty for nowhere (default: 127.0.0.1:8083, when it is free) (MUSTER_DASHBOARD_BIND)
        --adapter-runs-bind-address <ADDRESS>   where /adapter/runs is served, such as 127.0.0.1:8082; with TLS and for those whom Kubernetes lets on any other address; 0 for nowhere (default: 0; MUSTER_ADAPTER_RUNS_BIND_ADDRESS)
        --nats-url <URL>                        NATS server that the fleet keeps its state on; servers of one cluster are separated by commas (default: nats://127.0.0.1:4222; MUSTER_NATS_URL)
        --nats-credentials <FILE>               credentials of the fleet operator for NATS, read for each connection: a .creds file, or one with the seed of a key (MUSTER_NATS_CREDENTIALS)
        --nats-ca <FILE>                        certificates of the authorities that the one of NATS is of, PEM (default: those of the machine), read for each connection (MUSTER_NATS_CA)
        --config <NAME>                         the one SentinelConfig to work on (default: all of the namespace) (MUSTER_CONFIG)
        --sentinel-http-targets <URLS>          prefixes of the URLs of HyperFleet APIs other than that of --hyperfleet-api-url that SentinelConfigs may name, separated by commas (default: none; MUSTER_SENTINEL_HTTP_TARGETS)
        --deny-overlap [BOOL]                   refuse SentinelConfigs whose shards overlap, by an admission webhook (default: false; MUSTER_DENY_OVERLAP)
        --adapter-accounts-namespace <NAME>     namespace of the ServiceAccounts that adapter tasks act as (default: that of the task) (MUSTER_ADAPTER_ACCOUNTS_NAMESPACE)
        --deny-invalid-tasks [BOOL]             refuse AdapterTasks that can’t be run, by an admission webhook (default: false; MUSTER_DENY_INVALID_TASKS)
        --adapter-env <NAMES>                   environment variables that adapter tasks may read, separated by commas (default: none; MUSTER_ADAPTER_ENV)
        --adapter-files <PATHS>                 folders and files that adapter tasks may read, separated by commas; never the folder of --hyperfleet-api-token-file (default: none; MUSTER_ADAPTER_FILES)
        --adapter-http-targets <URLS>           prefixes of the URLs that http resources of adapter tasks, and HyperFleet APIs other than the manager’s, may have, separated by commas (default: none; MUSTER_ADAPTER_HTTP_TARGETS)
        --adapters-elsewhere <NAMES>            adapters that the HyperFleet API requires and that no task of this manager does, because they run elsewhere, separated by commas (default: none; MUSTER_ADAPTERS_ELSEWHERE)
        --adapter-nats-credentials <FILE>       credentials for the NATS servers of --adapter-nats-servers, read for each connection: a .creds file, or one with the seed of a key; tasks can’t read it (MUSTER_ADAPTER_NATS_CREDENTIALS)
        --adapter-nats-servers <URLS>           NATS servers that the events of adapter tasks may come from (spec.events.url), separated by commas (default: none; MUSTER_ADAPTER_NATS_SERVERS)
        --adapter-token-audience <NAME>         adapter tasks show the HyperFleet API of --hyperfleet-api-url tokens of their own ServiceAccounts, meant for this audience (default: they show that of --hyperfleet-api-token-file) (MUSTER_ADAPTER_TOKEN_AUDIENCE)
        --clusterpool-pod-security <LEVEL>      what the namespaces that pools make ask of pods, as a Pod Security Standard (restricted, baseline, privileged) (default: restricted; MUSTER_CLUSTERPOOL_POD_SECURITY)
        --clusterpool-pod-network <STATE>       which ways of the network pods have in the namespaces that pools make (closed: Jobs have DNS, HTTPS and API servers, others none; open: all) (default: closed; MUSTER_CLUSTERPOOL_POD_NETWORK)
        --former-kubernetes-uids <UIDS>         uids of namespace kube-system of the clusters that this one was restored from, whose registered clusters its ClusterDeployments take over; separated by commas (default: none; MUSTER_FORMER_KUBERNETES_UIDS)
        --cluster-device-labels <KEYS>          which labels of ClusterDeployments their devices get: keys, or prefixes that end in a slash, separated by commas (default: device.fleet.nationtech.io/; MUSTER_CLUSTER_DEVICE_LABELS)
        --cluster-device-state-dir <DIRECTORY>  where is noted what was applied to clusters that are devices; it must outlive the manager (default: ./muster-cluster-devices; MUSTER_CLUSTER_DEVICE_STATE_DIR)
        --fleet-public-keys <FILE>              public keys of the fleet, PEM, as its ConfigMap fleet-signing has them: clusters that are devices take only entries that one of them has signed (default: every entry) (MUSTER_FLEET_PUBLIC_KEYS)
        --device-labels <KEYS>                  labels that devices choose themselves, and so the Deployments that select by them: keys, prefixes that end in a slash, separated by commas; * for all (default: none; MUSTER_DEVICE_LABELS)
        --fleet-signing-keys <FILE>             private keys of Ed25519, PEM, by which entries for devices are signed; read again when it changes (default: nothing is signed, and agents that demand it take nothing new) (MUSTER_FLEET_SIGNING_KEYS)
        --fleet-device-keys <FOLDER>            public keys of devices, a file for each with the name of the device, as the ConfigMap nats-devices has them; what a device says that has signed before is taken only with a signature by its key (default: all that stands in fleet-info is taken) (MUSTER_FLEET_DEVICE_KEYS)
        --log-level <LEVEL>                     how much to log: debug, info, warn, error (default: info; MUSTER_LOG_LEVEL)
        --log-format <FORMAT>                   json for machines, text for people (default: json; MUSTER_LOG_FORMAT)
        -h, --help                              display help for command

      Examples:
        muster manager                                     every controller, in every namespace
        muster manager --controllers=sentinel --config=cluster-sentinel-us-east --namespace=hyperfleet-system
        MUSTER_LOG_FORMAT=text muster manager --context=kind-muster
      "
    `)
  })

  test('a reader that has left, as head does, is no failure of ours: no stack, and the code of a broken pipe', async () => {
    const child = spawn(process.execPath, [join(root, 'cmd/muster.ts'), 'crds'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    const [words, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    expect({ code, words }).toEqual({ code: 141, words: '' })
  })

  test('by npm exec from a checkout, on whatever Node.js the machine has', async () => {
    const { stdout } = await promisify(execFile)('npm', ['exec', '--', 'muster', 'version'], { cwd: root })
    expect(stdout).toMatch(/^muster 0\.1\.0 .*Node\.js v24\./)
  })
})
