/** Accounts that have nothing to do with Muster, beside an install as it is shipped: what they reach of it by the API server. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { customKinds } from '#apis/kinds.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'

const NAMESPACE = 'hyperfleet-system'
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

let cluster: OwnControlPlane

beforeAll(async () => {
  // The controller manager fills "edit".
  cluster = await startControlPlane({ crds: false, parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
  await cluster.kubectl('apply', '--server-side', '-f', 'manifests/install.yaml')
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all')
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
