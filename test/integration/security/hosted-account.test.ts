/**
 * Attacks with the account of the provider `hosted` beside a cluster, where pools let it in: as the author of its task has it, or a
 * person with the manager of tasks. On a real API server with the default install, and pools at work as their delivered account. docs/security.md.
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { TASK_ACCOUNTS_NAMESPACE } from '#cmd/security/model.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { REPOSITORY, readPage } from '../docs/page.ts'
import { type PoolsAtWork, poolsAtWork } from '../providers/pools.ts'
import { PATIENCE } from '../providers/world.ts'

vi.setConfig({ testTimeout: 180_000 })

const PROVIDER = 'hosted'
const AS = `--as=system:serviceaccount:${TASK_ACCOUNTS_NAMESPACE}:cluster-${PROVIDER}`
const LEVEL = 'pod-security.kubernetes.io/enforce'
const RBAC = 'rbac.authorization.k8s.io'

let pools: PoolsAtWork
/** Where the cluster is, and its name. */
let place: string
let name: string

const kubectl = (...args: readonly string[]): Promise<string> => pools.cluster.kubectl(...args, `--namespace=${place}`)

/** As the account, or as admin. */
const make = async (object: object, by?: 'admin') => {
  const file = join(await temporaryFolder('object'), 'object.json')
  await writeFile(file, JSON.stringify(object))
  return kubectl('apply', '--server-side', '--force-conflicts', '-f', file, ...(by === 'admin' ? [] : [AS]))
}

beforeAll(async () => {
  pools = await poolsAtWork(['kustomize/providers/hosted'])
  ;[place = ''] = await pools.pool(PROVIDER)
  const [cluster] = await Array.fromAsync(pools.api.list(ClusterDeployment, { namespace: place }))
  name = cluster?.metadata.name ?? ''
  await vi.waitFor(() => kubectl('auth', 'can-i', 'create', 'secrets', AS), PATIENCE)
}, 240_000)

afterAll(() => pools?.[Symbol.asyncDispose]())

const jobWith = (pod: object, container: object) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: `${name}-certificates` },
  spec: {
    backoffLimit: 0,
    template: { spec: { restartPolicy: 'Never', ...pod, containers: [{ name: 'c', image: 'any', ...container }] } },
  },
})

// POOL-87
test('attack: runs a pod with the disk of the node, beside the cluster: none is made', async () => {
  const disk = { name: 'disk', hostPath: { path: '/' } }
  await make(
    jobWith(
      { hostNetwork: true, volumes: [disk] },
      { securityContext: { privileged: true }, volumeMounts: [{ name: 'disk', mountPath: '/disk' }] },
    ),
  )
  await vi.waitFor(async () => {
    const pods = await kubectl('get', 'pods', '-o', 'name')
    const events = await kubectl('get', 'events', '-o', 'jsonpath={.items[*].message}')
    expect(`${pods}${events}`).toContain('violates PodSecurity "restricted')
    expect(pods).toBe('')
  }, PATIENCE)
  await kubectl('delete', 'job', `${name}-certificates`, AS)
})

// POOL-87
test('attack: lowers what its namespace asks of pods', async () => {
  for (const account of [AS, `--as=system:serviceaccount:hyperfleet-system:hyperfleet-clusterpool`])
    await expect(
      pools.cluster.kubectl('label', '--overwrite', 'namespace', place, `${LEVEL}=privileged`, account),
    ).rejects.toThrow('forbidden')
})

// CLUSTER-78
test('attack: deletes the install-config, or writes it anew', async () => {
  const [secret = ''] = (await kubectl('get', 'secrets', '-o', 'name')).match(/[^/\s]*install-config[^/\s]*/) ?? []
  expect(secret).not.toBe('')
  await expect(kubectl('delete', 'secret', secret, AS)).rejects.toThrow('is of the ClusterPool')
  const forged = { apiVersion: 'v1', kind: 'Secret', metadata: { name: secret }, stringData: { any: 'thing' } }
  await expect(make(forged)).rejects.toThrow('is of the ClusterPool')
})

const service = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: `${name}-api` },
  spec: { selector: { a: 'b' }, ports: [{ name: 'https', port: 6443, protocol: 'TCP' }], ...spec },
})

// CLUSTER-79. CVE-2020-8554: every node sends what goes to an external address to the pods of the Service.
test('attack: a Service beside the cluster takes an address of the network for its own, or opens a port of every node', async () => {
  const specs = [
    { externalIPs: ['203.0.113.7'] },
    { type: 'NodePort' },
    { type: 'LoadBalancer' },
    { type: 'ExternalName', externalName: 'example.com' },
  ]
  for (const spec of specs) await expect(make(service(spec))).rejects.toThrow('is reached inside of the cluster alone')
})

const policyOfPods = (metadata: object, spec: object) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata,
  spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ...spec },
})

// CLUSTER-79
test('attack: writes Secrets of other names, takes away what an administrator put beside the cluster, or opens it by more policies', async () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: {} }
  for (const other of [`${name}-cloud-credentials`, 'corp-pki', 'corp-admin-kubeconfig'])
    await expect(make({ ...secret, metadata: { name: other } })).rejects.toThrow('writes nothing beside')
  await make(policyOfPods({ name: 'default-deny' }, {}), 'admin')
  await expect(kubectl('delete', 'networkpolicy', 'default-deny', AS)).rejects.toThrow('writes nothing beside')
  await expect(make(policyOfPods({ name: 'mine' }, { egress: [{}] }))).rejects.toThrow('writes nothing beside')
  await kubectl('delete', 'networkpolicy', 'default-deny')
  const own = { name: `${name}-control-plane` }
  const podSelector = { matchLabels: { 'hosted-cluster': name } }
  for (const spec of [{ ingress: [{}] }, { podSelector, egress: [{}] }])
    await expect(make(policyOfPods(own, spec))).rejects.toThrow('opens no way out')
  await make(policyOfPods(own, { podSelector, ingress: [{ ports: [{ port: 6443, protocol: 'TCP' }] }] }))
  await kubectl('delete', 'networkpolicy', own.name, AS)
})

/** By which the pool closed the namespace. */
const POOLS_OWN = ['muster-default-deny', 'muster-jobs']

// POOL-86, CLUSTER-78
test('attack: opens the network of the pods beside its cluster, by deleting what its pool closed it with, by widening it, or by taking it for its own', async () => {
  const ofThePool = 'is of the ClusterPool'
  for (const policy of POOLS_OWN) {
    await expect(kubectl('delete', 'networkpolicy', policy, AS)).rejects.toThrow(ofThePool)
    await expect(make(policyOfPods({ name: policy }, { egress: [{}] }))).rejects.toThrow(ofThePool)
    await expect(kubectl('label', 'networkpolicy', policy, `${POOL_LABELS.uid}-`, AS)).rejects.toThrow(ofThePool)
  }
  await expect(kubectl('delete', 'networkpolicies', '--all', AS)).rejects.toThrow()
  const left = await kubectl('get', 'networkpolicies', '-o', 'jsonpath={.items[*].metadata.name}')
  expect(left.split(' ').toSorted()).toEqual(POOLS_OWN)
})

const role = (rules: readonly object[]) => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'Role',
  metadata: { name: `${name}-certificates` },
  rules,
})

const binding = (subject: object, more: { readonly as?: string; readonly to?: object } = {}) => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name: more.as ?? `${name}-certificates` },
  roleRef: more.to ?? { apiGroup: RBAC, kind: 'Role', name: `${name}-certificates` },
  subjects: [subject],
})

const keys = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'patch'] }
const OF_CERTIFICATES = () => ({ ...keys, resourceNames: [`${name}-pki`, `${name}-admin-kubeconfig`] })

// CLUSTER-79
test('attack: hands its rights on, by a binding of its own ClusterRole, or of a Role with more than the certificates need', async () => {
  const others = [
    { kind: 'User', apiGroup: RBAC, name: 'mallory' },
    { kind: 'Group', apiGroup: RBAC, name: 'system:authenticated' },
    { kind: 'ServiceAccount', namespace: 'default', name: `${name}-certificates` },
    { kind: 'ServiceAccount', namespace: place, name: 'default' },
  ]
  const own = { kind: 'ServiceAccount', namespace: place, name: `${name}-certificates` }
  const whole = { apiGroup: RBAC, kind: 'ClusterRole', name: 'muster-cluster-hosted-beside' }
  await make(role([OF_CERTIFICATES()]))
  for (const subject of others) await expect(make(binding(subject))).rejects.toThrow('lets in no account but')
  await expect(make(binding(own, { to: whole }))).rejects.toThrow('lets in no account but')
  await expect(make(binding(own, { as: 'more' }))).rejects.toThrow('writes nothing beside')
  const wider = [
    keys,
    { ...OF_CERTIFICATES(), resourceNames: [`${name}-install-config`] },
    { ...OF_CERTIFICATES(), resourceNames: ['corp-pki'] },
    { ...OF_CERTIFICATES(), resourceNames: ['corp-admin-kubeconfig'] },
    { ...OF_CERTIFICATES(), verbs: ['get', 'delete'] },
    { ...OF_CERTIFICATES(), resources: ['secrets', 'services'] },
    { apiGroups: [RBAC], resources: ['rolebindings'], verbs: ['create'] },
  ]
  for (const rule of wider) await expect(make(role([OF_CERTIFICATES(), rule]))).rejects.toThrow('gives no right but')
})

// CLUSTER-79
test('attack: reaches a Secret that the pool copied, by a Role and an account whose names only end as they should', async () => {
  const metadata = { name: 'corp-certificates' }
  const subject = { kind: 'ServiceAccount', namespace: place, ...metadata }
  const named = { ...role([{ ...keys, resourceNames: ['corp-pki'] }]), metadata }
  await expect(make(named)).rejects.toThrow('writes nothing beside')
  // Even where an administrator has made it.
  await make(named, 'admin')
  const objects = [
    binding(subject, { as: metadata.name, to: { apiGroup: RBAC, kind: 'Role', ...metadata } }),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
  ]
  for (const object of objects) await expect(make(object)).rejects.toThrow('writes nothing beside')
})

// CLUSTER-78
test('attack: takes away a binding that the pool wrote, or writes itself in', async () => {
  const own = 'muster-cluster-hosted-beside'
  await expect(kubectl('delete', 'rolebinding', own, AS)).rejects.toThrow('is of the ClusterPool')
  const whole = { apiGroup: RBAC, kind: 'ClusterRole', name: own }
  const mallory = { kind: 'User', apiGroup: RBAC, name: 'mallory' }
  await expect(make(binding(mallory, { as: own, to: whole }))).rejects.toThrow('is of the ClusterPool')
})

test('makes what its task makes', async () => {
  await make({ apiVersion: 'v1', kind: 'Secret', metadata: { name: `${name}-pki` } })
  await make({ apiVersion: 'v1', kind: 'Secret', metadata: { name: `${name}-admin-kubeconfig` } })
  await make({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: `${name}-certificates` } })
  await make(service({}))
  await kubectl('delete', 'service', `${name}-api`, AS)
  await make(role([OF_CERTIFICATES()]))
  await make(binding({ kind: 'ServiceAccount', namespace: place, name: `${name}-certificates` }))
  for (const kind of ['rolebinding', 'role', 'serviceaccount'])
    await kubectl('delete', kind, `${name}-certificates`, AS)
  for (const secret of ['pki', 'admin-kubeconfig']) await kubectl('delete', 'secret', `${name}-${secret}`, AS)
})

/** As a person runs it, from the page. @param has a text of the commands @returns what it says */
const upgrade = async (has: string): Promise<string> => {
  const { blocks } = await readPage('docs/upgrade.md')
  const commands = blocks.map((block) => block.commands).find((text) => text.includes(has))
  const binaries = await ensureBinaries(CONTROL_PLANE, console.error)
  const env = { ...process.env, KUBECONFIG: pools.cluster.kubeconfig, PATH: `${binaries}:${process.env.PATH}` }
  const { stderr } = await promisify(execFile)('bash', ['-euc', commands ?? 'exit 1'], { cwd: REPOSITORY, env })
  return stderr
}

// POOL-87
test('a namespace of an earlier release gets its level by the commands of the page, which name the pods that it would refuse', async () => {
  await pools.cluster.kubectl('label', 'namespace', place, `${LEVEL}-`)
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'former' } }
  await make({ ...pod, spec: { hostNetwork: true, containers: [{ name: 'c', image: 'any' }] } }, 'admin')
  expect(await upgrade(LEVEL)).toMatch(/existing pods in namespace "hosted-\w+" violate.*\n.*former/)
  const level = await pools.cluster.kubectl('get', 'namespace', place, '-L', LEVEL, '--no-headers')
  expect(level).toContain('restricted')
  expect(await kubectl('get', 'pods', '-o', 'name')).toContain('former')
})

// POOL-86
test('namespaces of an earlier release are closed by the commands of the page, and its account leaves that alone', async () => {
  await kubectl('delete', 'networkpolicy', ...POOLS_OWN)
  await upgrade('beside/network.yaml')
  for (const policy of POOLS_OWN)
    await expect(kubectl('delete', 'networkpolicy', policy, AS)).rejects.toThrow('is of the ClusterPool')
})
