/**
 * Attacks by the author of an AdapterTask on what the HyperFleet API takes the task for: on a real API server with the delivered Role and
 * policy, and the real API with the delivered flags. docs/security.md.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { consumerGroup } from '#apis/hyperfleet.redhat.com/consumer-group.ts'
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { AdapterOptions } from '#controllers/adapter/options.ts'
import { ProcessError } from '#hack/process/errors.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { monotonic, systemClock } from '#operator/model/clock.ts'
import { type AdapterWorld, adapterWorld, namespaceAndConfig, PATIENCE } from '../adapter/world.ts'
import { apiToken, shippedIssuer, shippedManager } from './shipped.ts'

let world: AdapterWorld
let shipped: Partial<AdapterOptions>
/** By which the manager's clock for the ends of tokens is ahead, in milliseconds. */
let ahead = 0

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
/** May write tasks for one account, and nothing else. */
const AUTHOR = 'author'

const accountOfTask = async (name: string): Promise<void> => {
  const { plane, accounts: namespace } = world
  await plane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
  await plane.rest('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name: `${name}-${namespace}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  })
}

const authorOf = async (account: string): Promise<void> => {
  const tasks = { apiGroups: ['hyperfleet.redhat.com'], resources: ['adaptertasks'], verbs: ['get', 'create', 'patch'] }
  const actAs = { apiGroups: [''], resources: ['serviceaccounts'], resourceNames: [account], verbs: ['impersonate'] }
  for (const [namespace, rule] of [
    [world.namespace, tasks],
    [world.accounts, actAs],
  ] as const) {
    await world.plane.rest('POST', `${RBAC}/namespaces/${namespace}/roles`, {
      metadata: { name: AUTHOR },
      rules: [rule],
    })
    await world.plane.rest('POST', `${RBAC}/namespaces/${namespace}/rolebindings`, {
      metadata: { name: AUTHOR },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: AUTHOR },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: AUTHOR }],
    })
  }
}

const kubectlAs = async (object: object): Promise<void> => {
  const file = join(await temporaryFolder('task'), 'task.json')
  await writeFile(file, JSON.stringify(object))
  await world.plane.kubectl('create', `--as=${AUTHOR}`, '-f', file)
}

/** As the author. @returns what the API server said against it */
const declare = async (name: string, spec: object): Promise<string | undefined> => {
  const { namespace, url } = world
  const task = {
    apiVersion: 'hyperfleet.redhat.com/v1alpha1',
    kind: 'AdapterTask',
    metadata: { name, namespace },
    spec: { resourceType: 'clusters', hyperfleetAPI: { url }, ...namespaceAndConfig(), ...spec },
  }
  try {
    await kubectlAs(task)
    return undefined
  } catch (error) {
    if (!(error instanceof ProcessError)) throw error
    return error.message
  }
}

const adaptersThatReported = async (id: string): Promise<readonly string[]> => {
  const found = await world.call<{ items: { adapter: string }[] }>('GET', `/clusters/${id}/statuses`)
  return (found?.items ?? []).map(({ adapter }) => adapter)
}

const problemOf = ({ status }: AdapterTask) => status?.conditions?.find(({ type }) => type === 'Stalled')?.message

const ofWorld = (text: string): string =>
  text.replaceAll('hyperfleet-system', world.namespace).replaceAll('hyperfleet-tasks', world.accounts)

beforeAll(async () => {
  world = await adapterWorld({ issuer: shippedIssuer, accountsApart: true })
  const policies = await temporaryFolder('policies')
  for (const policy of ['task-accounts', 'task-tokens', 'token-secrets']) {
    const text = await readFile(`kustomize/base/policies/${policy}.yaml`, 'utf8')
    await writeFile(join(policies, policy), ofWorld(text))
    await world.plane.kubectl('apply', '--server-side', '-f', join(policies, policy))
  }
  await accountOfTask('victim')
  await accountOfTask('mallory')
  await authorOf('mallory')
  const honest = { adapter: { name: 'victim' }, serviceAccountName: 'victim' }
  await world.declare('victim', { ...namespaceAndConfig(), ...honest, selector: { matchLabels: { never: 'so' } } })
  shipped = await shippedManager(world.plane, world.namespace)
  const clock = { ...systemClock, monotonic: () => monotonic(systemClock) + ahead }
  await world.manager(undefined, { ...shipped, clock })
  await world.until('victim', 'Working')
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

test('a task works for the adapter of its account’s name, and for the group of its own', async () => {
  expect(await declare('mallory', { adapter: { name: 'mallory' }, serviceAccountName: 'mallory' })).toBeUndefined()
  await world.until('mallory', 'Working')
  const { id } = await world.create('honest')
  await world.pulse(id)
  await vi.waitFor(async () => expect(await adaptersThatReported(id)).toEqual(['mallory']), PATIENCE)
})

test('attack: the author of a task names an account of others', async () => {
  // The policy takes a moment to hold.
  await vi.waitFor(
    async () =>
      expect(await declare('as-victim', { adapter: { name: 'x' }, serviceAccountName: 'victim' })).toContain(
        `the task would act as the ServiceAccount ${world.accounts}/victim, which you may not`,
      ),
    PATIENCE,
  )
})

// ADAPTER-105, ADAPTER-106
test('attack: the author of a task chooses another adapter’s name, and reports its success', async () => {
  const patch = JSON.stringify({ spec: { adapter: { name: 'victim' } } })
  const place = [`--namespace=${world.namespace}`, `--as=${AUTHOR}`, '--type=merge', `--patch=${patch}`]
  await world.plane.kubectl('patch', 'adaptertask', 'mallory', ...place)
  const { id } = await world.create('pretended')
  await world.pulse(id)
  const refused = await vi.waitFor(async () => {
    const outcome = problemOf(await world.task('mallory')) || (await adaptersThatReported(id)).join()
    if (outcome === '') throw new Error('it was neither refused nor taken')
    return outcome
  }, PATIENCE)
  expect(refused).toContain(`--auth-adapters=system:serviceaccount:${world.accounts}:mallory=victim`)
  expect(await adaptersThatReported(id)).toEqual([])
})

// ADAPTER-105, ADAPTER-106
test('attack: the author of a task takes the events of another one', async () => {
  const consumer = consumerGroup(world.namespace, 'victim')
  const spec = { adapter: { name: 'mallory' }, serviceAccountName: 'mallory', events: { consumer } }
  expect(await declare('thief', spec)).toBeUndefined()
  const problem = problemOf(await world.until('thief', 'APIRefused'))
  expect(problem).toContain(`--auth-consumers=system:serviceaccount:${world.accounts}:mallory=${consumer}`)
})

// ADAPTER-105
test('attack: the author of a task names the manager’s own token', async () => {
  const { hyperfleetApiTokenFile: tokenPath } = shipped
  const patch = JSON.stringify({ spec: { adapter: { name: 'mallory' }, hyperfleetAPI: { tokenPath } } })
  const place = [`--namespace=${world.namespace}`, `--as=${AUTHOR}`, '--type=merge', `--patch=${patch}`]
  await world.plane.kubectl('patch', 'adaptertask', 'mallory', ...place)
  await world.until('mallory', 'Working')
  const { id } = await world.create('borrowed')
  await world.pulse(id)
  // The manager may not report for this adapter, and its account may.
  await vi.waitFor(async () => expect(await adaptersThatReported(id)).toEqual(['mallory']), PATIENCE)
})

// ADAPTER-106
test('a task without an account says so, and works once it is made', async () => {
  await world.declare('homeless', {
    ...namespaceAndConfig(),
    adapter: { name: 'homeless' },
    serviceAccountName: 'homeless',
  })
  expect(problemOf(await world.until('homeless', 'APIRefused'))).toContain(
    `the ServiceAccount homeless is not there: make it in the namespace ${world.accounts}, or name another one in spec.serviceAccountName`,
  )
  await accountOfTask('homeless')
  await world.until('homeless', 'Working')
})

// ADAPTER-105, ADAPTER-106
test('an account that is deleted under way is missed when its token has ended, and is taken again when it is back', async () => {
  const { plane, accounts } = world
  await world.plane.kubectl('delete', 'serviceaccount', 'homeless', `--namespace=${accounts}`)
  ahead += 600_000
  // Its next request; one that waits for events is under way.
  const { id } = await world.create('deleted-under-way')
  await world.pulse(id)
  expect(problemOf(await world.until('homeless', 'APIRefused'))).toContain('the ServiceAccount homeless is not there')
  await plane.rest('POST', `/api/v1/namespaces/${accounts}/serviceaccounts`, { metadata: { name: 'homeless' } })
  await world.until('homeless', 'Working')
})

// ADAPTER-105
test('attack: who has taken the manager over has tokens made for Kubernetes, for long, or of an account that may do more', async () => {
  const { plane, namespace, accounts } = world
  const said = async (account: string, place: string, ...args: readonly string[]): Promise<string> => {
    const asManager = [`--namespace=${place}`, `--as=system:serviceaccount:${namespace}:hyperfleet-adapter`]
    try {
      await plane.kubectl('create', 'token', account, ...args, ...asManager)
      return 'made'
    } catch (error) {
      if (!(error instanceof ProcessError)) throw error
      return error.message
    }
  }
  const forTenMinutes = ['--audience=hyperfleet-api', '--duration=10m']
  // The policy takes a moment to hold.
  await vi.waitFor(
    async () =>
      expect(await said('victim', accounts, '--duration=10m')).toContain(
        'for the audience hyperfleet-api, for ten minutes',
      ),
    PATIENCE,
  )
  expect(await said('victim', accounts, ...forTenMinutes)).toBe('made')
  expect(await said('victim', accounts, '--audience=hyperfleet-api', '--duration=1h')).toContain(
    'for ten minutes, and no others',
  )
  expect(await said('victim', accounts, ...forTenMinutes, '--audience=x')).toContain('for ten minutes, and no others')
  await plane.kubectl('create', 'serviceaccount', 'hyperfleet-admin', `--namespace=${namespace}`)
  for (const account of ['hyperfleet-developer', 'hyperfleet-admin'])
    expect(await said(account, namespace, ...forTenMinutes)).toContain('forbidden')
  // Also where more rights are given to it than it is delivered with.
  const more = ['--verb=create', '--resource=serviceaccounts/token', `--namespace=${namespace}`]
  await plane.kubectl('create', 'role', 'more', ...more)
  await plane.kubectl(
    'create',
    'rolebinding',
    'more',
    '--role=more',
    `--serviceaccount=${namespace}:hyperfleet-adapter`,
    `--namespace=${namespace}`,
  )
  await vi.waitFor(
    async () =>
      expect(await said('hyperfleet-admin', namespace, ...forTenMinutes)).toContain('where no account of a task is'),
    PATIENCE,
  )
})

// ADAPTER-51
test('attack: who has taken the manager over acts as an account of Muster’s own, and its task names one', async () => {
  const { plane, namespace } = world
  const asPools = [`--as=system:serviceaccount:${namespace}:hyperfleet-clusterpool`]
  await plane.kubectl('create', 'serviceaccount', 'hyperfleet-clusterpool', `--namespace=${namespace}`)
  const kubeconfig = await plane.kubeconfigFor('hyperfleet-adapter', namespace)
  const refused = (error: Error) => error.message
  expect(await plane.kubectl('get', 'secrets', ...asPools, `--kubeconfig=${kubeconfig}`).catch(refused)).toContain(
    'cannot impersonate resource "serviceaccounts"',
  )
  await world.declare('as-pools', { ...namespaceAndConfig(), serviceAccountName: 'hyperfleet-clusterpool' })
  expect(problemOf(await world.until('as-pools', 'APIRefused'))).toContain(
    `the ServiceAccount hyperfleet-clusterpool is not there: make it in the namespace ${world.accounts}`,
  )
})

// ADAPTER-105
test('attack: who acts as a manager that may make Secrets anywhere has one filled with a token of a powerful account', async () => {
  const { plane, namespace } = world
  const pools = `system:serviceaccount:${namespace}:hyperfleet-clusterpool`
  await plane.kubectl('create', 'clusterrolebinding', `secrets-${namespace}`, '--clusterrole=admin', `--user=${pools}`)
  const create = async (name: string, type: string): Promise<string> => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, annotations: { 'kubernetes.io/service-account.name': 'everything' } },
      type,
    }
    const file = join(await temporaryFolder('secret'), 'secret.json')
    await writeFile(file, JSON.stringify(secret))
    return plane.kubectl('create', '-f', file, `--as=${pools}`).catch((error: Error) => error.message)
  }
  // The policy takes a moment to hold.
  let at = 0
  await vi.waitFor(
    async () =>
      expect(await create(`token-${at++}`, 'kubernetes.io/service-account-token')).toContain(
        'make no Secrets that hold tokens',
      ),
    PATIENCE,
  )
  expect(await create('pull-secret', 'Opaque')).toContain('created')
})

test('attack: who acts as a manager that serves a webhook puts a Secret where another program looks for its own', async () => {
  const { plane, namespace } = world
  const adapter = `system:serviceaccount:${namespace}:hyperfleet-adapter`
  const bound = [`--namespace=${namespace}`, 'makes-secrets']
  await plane.kubectl('create', 'role', '--verb=create', '--resource=secrets', ...bound)
  await plane.kubectl('create', 'rolebinding', '--role=makes-secrets', `--user=${adapter}`, ...bound)
  const create = (...metadata: readonly string[]): Promise<string> =>
    plane
      .kubectl('create', 'secret', 'generic', ...metadata, `--namespace=${namespace}`, `--as=${adapter}`)
      .catch((error: Error) => error.message)
  await vi.waitFor(
    async () => expect(await create('hyperfleet-signing-keys')).toContain('makes no Secret but that of its webhook'),
    PATIENCE,
  )
  expect(await create('hyperfleet-sentinel-webhook')).toContain('and not hyperfleet-sentinel-webhook')
  expect(await create('hyperfleet-adapter-webhook')).toContain('created')
})

// ADAPTER-105
test('attack: the manager’s own identity reports for whom it likes', async () => {
  const { id } = await world.create('by-manager')
  const answer = await fetch(`${world.url}/api/hyperfleet/v1/clusters/${id}/statuses`, {
    method: 'PUT',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${await apiToken(world.plane, 'hyperfleet-adapter', world.namespace)}`,
    },
    body: JSON.stringify({
      adapter: 'victim',
      observed_generation: 1,
      conditions: ['Applied', 'Available', 'Health'].map((type) => ({ type, status: 'True' })),
    }),
  })
  expect(answer.status).toBe(403)
})
