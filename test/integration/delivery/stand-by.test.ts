/** The managers that kustomize/components/ha gives a second replica, with the arguments and the rights that it delivers. */
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MusterProcess, type OwnControlPlane, startControlPlane, startMuster } from '#test/harness/index.ts'
import { kubectl } from './kustomize.ts'
import type { Manifest } from './rules/manifest.ts'
import { workloadOf } from './rules/workload.ts'

const NAMESPACE = 'hyperfleet-system'

let cluster: OwnControlPlane
let overlay: readonly Manifest[]

beforeAll(async () => {
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  await cluster.kubectl('apply', '--server-side', '-k', 'kustomize/base')
  await cluster.kubectl('apply', '--server-side', '-f', 'kustomize/components/ha/rbac.yaml')
  overlay = loadAll((await kubectl('kustomize', 'kustomize/overlays/stage')).stdout) as Manifest[]
})

afterAll(async () => {
  await cluster?.stop()
})

/** As its Deployment in the overlay starts it. */
const start = async (name: string): Promise<MusterProcess> => {
  const deployment = overlay.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)
  const workload = deployment && workloadOf(deployment)
  expect(workload?.replicas).toBe(2)
  const { serviceAccountName = '', containers } = workload?.template.spec ?? {}
  const [{ command = [], args = [] } = {}] = containers ?? []
  const kubeconfig = await cluster.kubeconfigFor(serviceAccountName, NAMESPACE)
  const anywhere = args.map((arg) => arg.replace(/(-bind-address)=:\d+$/, '$1=127.0.0.1:0'))
  return startMuster([...command.slice(1), ...anywhere, `--kubeconfig=${kubeconfig}`], { POD_NAMESPACE: NAMESPACE })
}

test.each([
  ['hyperfleet-clusterpool', 'muster-clusterpool-clusterclaim'],
  ['hyperfleet-clusterdeployment', 'muster-clusterdeployment'],
])('%s: one works, and the other takes over at once when it stops', { timeout: 180_000 }, async (name, lease) => {
  await using first = await start(name)
  await first.line('lease acquired')
  await using second = await start(name)
  await second.line('caches are filled')
  expect(second.log().map(({ msg }) => msg)).not.toContain('lease acquired')
  await first.stop()
  expect(await second.line('lease acquired')).toMatchObject({ lease })
})

test('without the right to the Lease it says so at its start, and what to do', async () => {
  await cluster.kubectl('delete', '-f', 'kustomize/components/ha/rbac.yaml')
  await using manager = await start('hyperfleet-clusterpool')
  expect(await manager.exited).toMatchObject({ code: 1 })
  expect(manager.output()).toBe(
    `muster: ServiceAccount ${NAMESPACE}/hyperfleet-clusterpool may not get, create, update leases.coordination.k8s.io in namespace ${NAMESPACE}: grant it as the Roles in kustomize/base/rbac do, or set --namespace to where it is granted`,
  )
})
