import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { catalogue } from '#cmd/manager/catalogue.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { kubectl } from './kustomize.ts'

const NAMESPACE = 'hyperfleet-system'

/** The manifests name their namespace, so they need a cluster of their own. */
let cluster: OwnControlPlane
let asSentinel: string

beforeAll(async () => {
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
  await kubectl(`--kubeconfig=${cluster.kubeconfig}`, 'apply', '--server-side', '-k', 'kustomize/base')
  asSentinel = await cluster.kubeconfigFor('hyperfleet-sentinel', NAMESPACE)
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
    .toSorted()
}

describe('the Sentinel’s ServiceAccount', () => {
  test('may do what its controller needs in its namespace, and nothing else', async () => {
    const needed = catalogue.sentinel.permissions.map(({ group, resource, verbs }) => {
      const [plural, subresource] = resource.split('/')
      return `${plural}.${group}${subresource === undefined ? '' : `/${subresource}`} [] [] [${verbs.join(' ')}]`
    })
    expect(await rightsOf(asSentinel, NAMESPACE)).toEqual(needed.toSorted())
  })

  test('may do nothing in any other namespace', async () => {
    expect(await rightsOf(asSentinel, 'default')).toEqual([])
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

  test('who may view a namespace may read SentinelConfigs only', async () => {
    expect(await can('viewer', 'watch', 'sentinelconfigs')).toBe('yes')
    expect(await can('viewer', 'create', 'sentinelconfigs')).toBe('no')
  })
})
