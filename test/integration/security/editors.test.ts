/** Accounts that have nothing to do with Muster, beside an install as it is shipped: what they reach of it by the API server. */
import { glob, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { customKinds } from '#apis/kinds.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'

const NAMESPACE = 'hyperfleet-system'
/** Of the administrator of the HyperFleet API, and the account's name. */
const ADMIN = 'hyperfleet-admin'
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
}

let cluster: OwnControlPlane

beforeAll(async () => {
  // The controller manager fills "edit".
  cluster = await startControlPlane({ crds: false, parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
  await cluster.kubectl('apply', '--server-side', '-f', 'manifests/install.yaml')
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all')
  await cluster.kubectl('apply', '--server-side', '-k', 'kustomize/samples/tasks')
  for (const file of ['namespace', 'account'])
    await cluster.kubectl('apply', '--server-side', '-f', `kustomize/components/api-admin/${file}.yaml`)
  for (const name of ['stranger', 'editor']) await cluster.kubectl('create', 'serviceaccount', name, '-n', 'default')
  await cluster.kubectl(
    'create',
    'rolebinding',
    'edit',
    '--clusterrole=edit',
    '--serviceaccount=default:editor',
    '-n',
    'default',
  )
}, 240_000)

afterAll(() => cluster?.stop())

interface Access {
  readonly verb: string
  readonly group?: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
}

/** Which of some accesses an account has, by the API server's own authorizer. */
const allowedTo = async (account: string, accesses: readonly Access[]): Promise<readonly Access[]> => {
  const answers = await Promise.all(
    accesses.map((resourceAttributes) =>
      cluster.rest<{ status: { allowed: boolean } }>('POST', REVIEWS, {
        spec: {
          user: `system:serviceaccount:default:${account}`,
          groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
          resourceAttributes,
        },
      }),
    ),
  )
  return accesses.filter((_, index) => answers[index]?.status.allowed === true)
}

const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'] as const

/** Every verb on some resources in a namespace. */
const all = (
  verbs: readonly string[],
  group: string,
  resources: readonly string[],
  namespace: string,
): readonly Access[] => resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource, namespace })))

/** What kinds of Muster there are, by group. */
const onMuster = (verbs: readonly string[], namespace: string): readonly Access[] =>
  customKinds().flatMap(({ resource }) => all(verbs, resource.group, [resource.plural], namespace))

test('attack: an account without rights reads or writes what is Muster’s', async () => {
  const everything = ['get', 'list', 'watch', ...WRITE]
  const wanted = [
    ...onMuster(everything, NAMESPACE),
    ...onMuster(everything, 'default'),
    ...all(everything, '', ['secrets', 'configmaps', 'pods', 'serviceaccounts'], NAMESPACE),
  ]
  expect(wanted.length).toBeGreaterThan(150)
  expect(await allowedTo('stranger', wanted)).toEqual([])
})

test('attack: the editor of another namespace acts as an account of Muster, reads its Secrets, writes its configuration, or takes away what holds others', async () => {
  const own: Access = { verb: 'create', resource: 'configmaps', namespace: 'default' }
  await vi.waitFor(async () => expect(await allowedTo('editor', [own])).toEqual([own]), { timeout: 60_000 })
  const admission = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings']
  const account = { resource: 'serviceaccounts', name: 'hyperfleet-clusterpool', namespace: NAMESPACE }
  const wanted: readonly Access[] = [
    { ...account, verb: 'impersonate' },
    { ...account, verb: 'create', subresource: 'token' },
    ...all(['get', 'list', 'watch', ...WRITE], '', ['secrets'], NAMESPACE),
    ...all(WRITE, '', ['configmaps', 'pods', 'serviceaccounts'], NAMESPACE),
    ...all(WRITE, 'apps', ['deployments', 'statefulsets', 'daemonsets'], NAMESPACE),
    ...all(WRITE, 'batch', ['jobs', 'cronjobs'], NAMESPACE),
    ...all(WRITE, 'networking.k8s.io', ['networkpolicies'], NAMESPACE),
    ...all(WRITE, 'admissionregistration.k8s.io', admission, ''),
    ...all(WRITE, 'rbac.authorization.k8s.io', ['rolebindings', 'roles'], NAMESPACE),
    { verb: 'patch', resource: 'namespaces', name: NAMESPACE },
    ...onMuster(WRITE, NAMESPACE),
  ]
  expect(await allowedTo('editor', wanted)).toEqual([])
  // In a namespace of its own it may write what is declared there, and nothing that runs programs on devices.
  const fleet = all(WRITE, 'fleet.nationtech.io', ['deployments', 'devices'], 'default')
  expect(await allowedTo('editor', fleet)).toEqual([])
})

// ADAPTER-133
test('attack: the author of a task has its account write or delete where Muster is, or label the namespace', async () => {
  const [tasks, work] = ['hyperfleet-tasks', 'hyperfleet-work']
  await cluster.kubectl('create', 'serviceaccount', 'mighty', '-n', tasks)
  // More than a task should have: the policy is to hold all the same.
  await cluster.kubectl('create', 'clusterrole', 'labels', '--verb=get,patch,delete', '--resource=namespaces')
  const subject = `--serviceaccount=${tasks}:mighty`
  for (const role of ['admin', 'muster-editor', 'labels'])
    await cluster.kubectl('create', 'clusterrolebinding', `mighty-${role}`, `--clusterrole=${role}`, subject)
  const as = (account: string, ...args: readonly string[]): Promise<string> =>
    cluster
      .kubectl(...args, `--as=system:serviceaccount:${tasks}:${account}`, '--dry-run=server')
      .then(() => 'allowed')
      .catch((error: Error) => error.message)
  const job = (namespace: string) => ['create', 'job', 'loot', '--image=busybox', `--namespace=${namespace}`]
  const config = (namespace: string) => ['create', 'configmap', 'nats-devices', `--namespace=${namespace}`]
  // Roles of the control plane, and the policy, take a moment to hold.
  await vi.waitFor(async () => expect(await as('mighty', ...job(work))).toBe('allowed'), { timeout: 60_000 })
  await vi.waitFor(async () => expect(await as('mighty', ...job(NAMESPACE))).toContain('apply nothing in'), {
    timeout: 60_000,
  })
  const attacks = [
    config(NAMESPACE),
    ['create', 'secret', 'generic', 'loot', `--namespace=${NAMESPACE}`],
    ['create', 'rolebinding', 'loot', '--clusterrole=view', '--user=mallory', `--namespace=${NAMESPACE}`],
    ['delete', 'networkpolicy', 'default-deny', `--namespace=${NAMESPACE}`],
    ['patch', 'deployment', 'hyperfleet-api', '--patch={"spec":{"replicas":0}}', `--namespace=${NAMESPACE}`],
    ['scale', 'deployment', 'hyperfleet-api', '--replicas=0', `--namespace=${NAMESPACE}`],
    ['create', 'serviceaccount', 'another-adapter', `--namespace=${tasks}`],
    ['label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=privileged', '--overwrite'],
    ['delete', 'namespace', NAMESPACE],
    job(ADMIN),
    ['delete', 'namespace', ADMIN],
    ['label', 'namespace', work, 'pod-security.kubernetes.io/enforce=privileged', '--overwrite'],
  ]
  for (const attack of attacks) {
    const answer = await as('mighty', ...attack)
    // What is said of a namespace may be what ADAPTER-134 says.
    expect({ attack, answer }).toEqual({
      attack,
      answer: expect.stringMatching(/apply nothing in|may not change the label/),
    })
  }
  const token = ['create', 'token', ADMIN, `--namespace=${ADMIN}`, '--audience=hyperfleet-api']
  const asMighty = cluster.kubectl(...token, `--as=system:serviceaccount:${tasks}:mighty`)
  await expect(asMighty).rejects.toThrow('apply nothing in')
  for (const attack of [config('default'), ['label', 'namespace', 'default', 'a=b']])
    expect({ attack, answer: await as('mighty', ...attack) }).toEqual({ attack, answer: 'allowed' })
  // The accounts of the samples, which are there to try things out with.
  for (const account of ['cluster-config', 'cluster-validation', 'cluster-slow', 'nodepool-config'])
    for (const attack of [job(NAMESPACE), config(NAMESPACE)])
      expect({ account, attack, answer: await as(account, ...attack) }).toEqual({
        account,
        attack,
        answer: expect.stringMatching(/apply nothing in|cannot create resource/),
      })
})

// ADAPTER-133
test('what a task applied where Muster is, before that was refused, can be deleted, and nothing else there', async () => {
  const mighty = '--as=system:serviceaccount:hyperfleet-tasks:mighty'
  for (const name of ['older', 'of-muster'])
    await cluster.kubectl('create', 'configmap', name, `--namespace=${NAMESPACE}`)
  await cluster.kubectl('label', 'configmap', 'older', 'muster.dev/adapter=former', `--namespace=${NAMESPACE}`)
  const remove = (name: string) => cluster.kubectl('delete', 'configmap', name, `--namespace=${NAMESPACE}`, mighty)
  await expect(remove('of-muster')).rejects.toThrow('apply nothing in')
  const label = ['label', 'configmap', 'of-muster', 'muster.dev/adapter=former', `--namespace=${NAMESPACE}`, mighty]
  await expect(cluster.kubectl(...label)).rejects.toThrow('apply nothing in')
  await remove('older')
})

// ADAPTER-133
test('no namespace that comes with Muster is left out of what tasks apply nothing in', async () => {
  const files = await Array.fromAsync(glob('kustomize/{base,components}/**/*.yaml'))
  const manifests = await Promise.all(files.map(async (file) => loadAll(await readFile(file, 'utf8')) as Manifest[]))
  const namespaces = manifests.flat().filter((manifest) => manifest?.kind === 'Namespace')
  expect(namespaces.length).toBeGreaterThan(3)
  for (const { metadata } of namespaces) {
    const label = ['label', 'namespace', metadata.name, 'example=mine', '--dry-run=server']
    const asTask = cluster.kubectl(...label, '--as=system:serviceaccount:hyperfleet-tasks:mighty')
    await expect(asTask).rejects.toThrow('apply nothing in')
  }
})

// ADAPTER-134
test('attack: the author of a task has its account change what labels of a namespace that is there allow', async () => {
  const guarded = {
    'pod-security.kubernetes.io/enforce': 'restricted',
    'muster.dev/reads-metrics': 'false',
    'muster.dev/commits-approve': 'false',
    'hive.openshift.io/clusterpool-uid': 'u',
  }
  const pairs = Object.entries(guarded).map(([key, value]) => `${key}=${value}`)
  await cluster.kubectl('create', 'namespace', 'pool-1')
  await cluster.kubectl('label', 'namespace', 'pool-1', ...pairs)
  await cluster.kubectl('create', 'namespace', 'plain')
  // The sample is what docs/gitops-declare.md has people copy.
  const as = (...args: readonly string[]): Promise<string> =>
    cluster
      .kubectl(...args, '--as=system:serviceaccount:hyperfleet-tasks:cluster-config', '--dry-run=server')
      .then(() => 'allowed')
      .catch((error: Error) => error.message.replace(/^.*denied request: /s, ''))
  const label = (namespace: string, text: string) => as('label', '--overwrite', 'namespace', namespace, text)
  for (const key of Object.keys(guarded))
    for (const [namespace = '', text = ''] of [
      ['pool-1', `${key}=privileged`],
      ['pool-1', `${key}-`],
      ['plain', `${key}=true`],
    ]) {
      const answer = await label(namespace, text)
      expect({ namespace, text, answer }).toEqual({ namespace, text, answer: expect.stringContaining(key) })
    }
  expect(await label('pool-1', 'pod-security.kubernetes.io/enforce=privileged')).toMatchInlineSnapshot(
    `"an adapter task may not change the label pod-security.kubernetes.io/enforce of a namespace: write it as the namespace has it, or nothing where it has none, or ask an administrator to change it, or to give update on adaptertasks/objects in hyperfleet-system to system:serviceaccount:hyperfleet-tasks:cluster-config"`,
  )
  const marks = ['muster.dev/adapter=cluster-config', 'muster.dev/resource-id=1', 'shared.muster.dev/hyperfleet=yes']
  for (const text of [...marks, ...pairs, 'cluster-name=c']) expect(await label('pool-1', text)).toBe('allowed')
})

// ADAPTER-134
test('a task applies namespaces of its own with such labels, and again; an administrator may let it change them', async () => {
  const [account, file] = ['cluster-config', join(await temporaryFolder('labels'), 'namespace.json')]
  const apply = async (level: string): Promise<string> => {
    const labels = { 'pod-security.kubernetes.io/enforce': level, 'muster.dev/adapter': account }
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'c-1', labels } }))
    const as = [`--as=system:serviceaccount:hyperfleet-tasks:${account}`, '--field-manager=muster-adapter-x']
    return cluster
      .kubectl('apply', '--server-side', `--filename=${file}`, ...as)
      .then(() => 'allowed')
      .catch((error: Error) => error.message)
  }
  for (const _ of [1, 2]) expect(await apply('privileged')).toBe('allowed')
  expect(await apply('restricted')).toContain('pod-security.kubernetes.io/enforce')
  const right = ['--verb=update', '--resource=adaptertasks.hyperfleet.redhat.com/objects']
  await cluster.kubectl('create', 'role', 'labels', '-n', NAMESPACE, ...right)
  const subject = `--serviceaccount=hyperfleet-tasks:${account}`
  await cluster.kubectl('create', 'rolebinding', 'labels', '-n', NAMESPACE, '--role=labels', subject)
  await vi.waitFor(async () => expect(await apply('restricted')).toBe('allowed'), { timeout: 60_000 })
})

// ADAPTER-133
test('an administrator who means it lets the account of a task write where Muster is', async () => {
  const account = 'hyperfleet-tasks:meant'
  await cluster.kubectl('create', 'serviceaccount', 'meant', '-n', 'hyperfleet-tasks')
  await cluster.kubectl('create', 'role', 'meant', '-n', NAMESPACE, '--verb=create,get', '--resource=configmaps')
  await cluster.kubectl(
    'create',
    'role',
    'objects',
    '-n',
    NAMESPACE,
    '--verb=update',
    '--resource=adaptertasks.hyperfleet.redhat.com/objects',
  )
  for (const role of ['meant', 'objects'])
    await cluster.kubectl(
      'create',
      'rolebinding',
      role,
      '-n',
      NAMESPACE,
      `--role=${role}`,
      `--serviceaccount=${account}`,
    )
  await vi.waitFor(
    () =>
      cluster.kubectl(
        'create',
        'configmap',
        'meant',
        '-n',
        NAMESPACE,
        `--as=system:serviceaccount:${account}`,
        '--dry-run=server',
      ),
    { timeout: 60_000 },
  )
})
