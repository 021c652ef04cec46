import { writeFile } from 'node:fs/promises'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ControllerName } from '#cmd/manager/controllers.ts'
import { permissions } from '#cmd/manager/permissions.ts'
import { TASK_ACCOUNTS } from '#hack/muster/managers.ts'
import { merged } from '#operator/model/permission.ts'
import { type OwnControlPlane, startControlPlane, startMuster } from '#test/harness/index.ts'
import { kubectl } from './kustomize.ts'

const NAMESPACE = 'hyperfleet-system'

/** The manifests name their namespace, so they need a cluster of their own. */
let cluster: OwnControlPlane
let asSentinel: string
let asAdapter: string
let asFleet: string

beforeAll(async () => {
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
  await kubectl(`--kubeconfig=${cluster.kubeconfig}`, 'apply', '--server-side', '-k', 'kustomize/base')
  asSentinel = await cluster.kubeconfigFor('hyperfleet-sentinel', NAMESPACE)
  asAdapter = await cluster.kubeconfigFor('hyperfleet-adapter', NAMESPACE)
  asFleet = await cluster.kubeconfigFor('fleet-operator', NAMESPACE)
})

afterAll(async () => {
  await cluster.stop()
})

/** What an account may do in a namespace, one line a resource, in the words of Kubernetes' SelfSubjectRulesReview. */
const rightsOf = async (kubeconfig: string, namespace: string): Promise<string[]> => {
  const { stdout } = await kubectl(`--kubeconfig=${kubeconfig}`, 'auth', 'can-i', '--list', `--namespace=${namespace}`)
  const [, ...lines] = stdout.trimEnd().split('\n')
  return lines
    .map((line) => line.replace(/ +/g, ' '))
    .filter((line) => !line.startsWith(' [/') && !line.startsWith('selfsubject'))
    .map((line) => line.replace(/\[([^\]]*)\]$/, (_all, verbs: string) => `[${verbs.split(' ').toSorted().join(' ')}]`))
    .filter((line) => !ASKED_BY_POLICIES.test(line))
    .toSorted()
}

/** Subresources that policies alone ask for: no controller calls them, so none declares them. */
const ASKED_BY_POLICIES =
  /^[a-z]+\.(hive\.openshift\.io|fleet\.nationtech\.io)\/(assignment|finalizers) \[\] \[\] \[update\]$/

/** What the process of these controllers needs, one line a resource, in the same words. */
const needs = (...controllers: readonly ControllerName[]): string[] =>
  merged(controllers.flatMap((name) => permissions[name]))
    .map(({ group, resource, verbs, name }) => {
      const [plural, subresource] = resource.split('/')
      const kind = group === '' ? plural : `${plural}.${group}`
      const names = name === undefined ? '' : name
      return `${kind}${subresource === undefined ? '' : `/${subresource}`} [] [${names}] [${verbs.toSorted().join(' ')}]`
    })
    .toSorted()

describe('the Sentinel’s ServiceAccount', () => {
  test('may do what its controller needs in its namespace, and nothing else', async () => {
    expect(await rightsOf(asSentinel, NAMESPACE)).toEqual(needs('sentinel'))
  })

  test('may do nothing in any other namespace', async () => {
    expect(await rightsOf(asSentinel, 'default')).toEqual([])
  })
})

describe('for the HyperFleet API as it is delivered', () => {
  interface Pod {
    readonly serviceAccountName: string
    readonly containers: readonly {
      readonly args: readonly string[]
      readonly env: readonly { name: string; value: string }[]
    }[]
    readonly volumes: readonly {
      readonly projected?: { readonly sources: readonly { serviceAccountToken?: { audience: string } }[] }
    }[]
  }

  const podOf = async (folder: string, name: string): Promise<Pod> => {
    const { stdout } = await kubectl('kustomize', folder)
    const objects = loadAll(stdout) as { kind: string; metadata: { name: string }; spec: { template: { spec: Pod } } }[]
    const found = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)
    if (found === undefined) throw new Error(`${folder} has no Deployment ${name}`)
    return found.spec.template.spec
  }

  test('a Sentinel may read and post events with the token that its pod mounts, and change nothing', async () => {
    const api = await podOf('kustomize/base', 'hyperfleet-api')
    const sentinel = await podOf('kustomize/shards/us-east', 'cluster-sentinel-us-east')
    expect(api.containers[0]?.args).toContain('--auth-kubernetes')
    const audiences = sentinel.volumes.flatMap(({ projected }) =>
      (projected?.sources ?? []).flatMap(({ serviceAccountToken }) => serviceAccountToken?.audience ?? []),
    )
    const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${sentinel.serviceAccountName}/token`
    const { status } = await cluster.rest<{ status: { token: string } }>('POST', path, { spec: { audiences } })

    const keys = `${cluster.kubeconfig}.jwks`
    await writeFile(keys, await cluster.kubectl('get', '--raw', '/openid/v1/jwks'))
    const { issuer } = JSON.parse(await cluster.kubectl('get', '--raw', '/.well-known/openid-configuration')) as {
      issuer: string
    }
    await using served = await startMuster(
      [
        'api',
        '--bind-address=127.0.0.1:0',
        '--metrics-bind-address=0',
        '--health-probe-bind-address=0',
        `--data-dir=${cluster.kubeconfig}.api`,
        `--auth-issuer=${issuer}`,
        `--auth-jwks-file=${keys}`,
      ],
      Object.fromEntries(api.containers[0]?.env.map(({ name, value }) => [name, value]) ?? []),
    )
    const { url } = await served.line('the HyperFleet API is serving')
    const call = async (method: string, to: string, body?: object) => {
      const headers = { authorization: `Bearer ${status.token}` }
      const content = body === undefined ? {} : { body: JSON.stringify(body) }
      return (await fetch(`${String(url)}/api/hyperfleet/v1${to}`, { method, headers, ...content })).status
    }
    expect(await call('GET', '/clusters')).toBe(200)
    expect(await call('POST', '/events', { resourceType: 'clusters', resourceId: 'none', reason: 'New' })).toBe(404)
    expect(await call('POST', '/clusters', { name: 'one', spec: {} })).toBe(403)
  })
})

/** What other tasks have, in every namespace. */
const INVENTORIES = [
  'adapterinventories.hyperfleet.redhat.com [] [] [list]',
  'adaptertasks.hyperfleet.redhat.com [] [] [get]',
]

describe('the adapters’ ServiceAccount', () => {
  test('may do what its controller needs in its namespace, and elsewhere read what other tasks have: tasks do the rest in other names', async () => {
    const ofAccounts = needs('adapter').filter((line) => line.startsWith('serviceaccounts'))
    expect(await rightsOf(asAdapter, NAMESPACE)).toEqual(needs('adapter').filter((line) => !ofAccounts.includes(line)))
    // Of tasks alone: it acts as no account of Muster's own. ADAPTER-51
    expect(await rightsOf(asAdapter, TASK_ACCOUNTS)).toEqual([...INVENTORIES, ...ofAccounts])
    // ADAPTER-113
    expect(await rightsOf(asAdapter, 'default')).toEqual(INVENTORIES)
  })
})

describe('the pools’ ServiceAccount', () => {
  test('may do what its two controllers need in every namespace, and nothing else', async () => {
    const asPools = await cluster.kubeconfigFor('hyperfleet-clusterpool', NAMESPACE)
    expect(await rightsOf(asPools, NAMESPACE)).toEqual(needs('clusterpool', 'clusterclaim'))
    expect(await rightsOf(asPools, 'default')).toEqual(needs('clusterpool', 'clusterclaim'))
  })
})

describe('the ClusterDeployments’ ServiceAccount', () => {
  test('may do what its controller needs in every namespace, and nothing else', async () => {
    const asClusters = await cluster.kubeconfigFor('hyperfleet-clusterdeployment', NAMESPACE)
    expect(await rightsOf(asClusters, NAMESPACE)).toEqual(needs('clusterdeployment'))
    expect(await rightsOf(asClusters, 'default')).toEqual(needs('clusterdeployment'))
  })
})

describe('the ServiceAccount of clusters as devices', () => {
  test('may do what its controller needs in every namespace, and nothing else', async () => {
    const asDevices = await cluster.kubeconfigFor('hyperfleet-clusterdevice', NAMESPACE)
    expect(await rightsOf(asDevices, NAMESPACE)).toEqual(needs('clusterdevice'))
    expect(await rightsOf(asDevices, 'default')).toEqual(needs('clusterdevice'))
  })
})

describe('the fleet operator’s ServiceAccount', () => {
  test('may do what its controller needs everywhere, keeps its Lease at home, and may do nothing else', async () => {
    const everywhere = needs('fleet').filter((line) => !line.startsWith('leases'))
    expect(await rightsOf(asFleet, NAMESPACE)).toEqual(needs('fleet'))
    expect(await rightsOf(asFleet, 'default')).toEqual(everywhere)
  })
})

describe('people', () => {
  const can = async (user: string, verb: string, resource: string, subresource = ''): Promise<string> => {
    const admin = `--kubeconfig=${cluster.kubeconfig}`
    const args = [
      'auth',
      'can-i',
      verb,
      resource,
      `--subresource=${subresource}`,
      `--as=${user}`,
      `--namespace=${NAMESPACE}`,
    ]
    // kubectl answers "no" with exit code 1 as well.
    const { stdout } = await kubectl(admin, ...args).catch((refused: { stdout: string }) => refused)
    return stdout.trim()
  }

  beforeAll(async () => {
    for (const role of ['view', 'edit']) {
      await cluster.kubectl('create', 'rolebinding', role, `--clusterrole=${role}`, `--user=${role}er`, '-n', NAMESPACE)
    }
    // The controller manager adds our roles to Kubernetes' own a moment after they are there.
    await vi.waitUntil(async () => (await can('editer', 'create', 'sentinelconfigs')) === 'yes', { timeout: 30_000 })
    await vi.waitUntil(async () => (await can('viewer', 'list', 'sentinelconfigs')) === 'yes', { timeout: 30_000 })
  })

  test('who may edit a namespace may write SentinelConfigs, but not their status', async () => {
    expect(await can('editer', 'delete', 'sentinelconfigs')).toBe('yes')
    expect(await can('editer', 'patch', 'sentinelconfigs', 'status')).toBe('no')
  })

  /** GITOPS-16. */
  test('attack: who may edit a namespace has programs put on devices', async () => {
    for (const verb of ['create', 'update', 'patch', 'delete'])
      expect(await can('editer', verb, 'deployments.fleet.nationtech.io'), verb).toBe('no')
    expect(await can('viewer', 'list', 'deployments.fleet.nationtech.io')).toBe('yes')
    await cluster.kubectl(
      'create',
      'rolebinding',
      'fleet',
      '--clusterrole=muster-fleet-editor',
      '--user=roller',
      '-n',
      NAMESPACE,
    )
    expect(await can('roller', 'create', 'deployments.fleet.nationtech.io')).toBe('yes')
  })

  test('who may view a namespace may read SentinelConfigs only', async () => {
    expect(await can('viewer', 'watch', 'sentinelconfigs')).toBe('yes')
    expect(await can('viewer', 'create', 'sentinelconfigs')).toBe('no')
  })
})
