/** Tasks that share a namespace whose labels a policy keeps: each leaves it, and the last one deletes it. On the real API server, with the shipped policy. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import { type AdapterWorld, adapterWorld, PATIENCE } from './world.ts'

const LEVEL = 'pod-security.kubernetes.io/enforce'

let world: AdapterWorld
/** The namespace that tasks share. */
let shared: string

beforeAll(async () => {
  world = await adapterWorld({ accountsApart: true })
  shared = `${world.namespace}-shared`
  // Of this world's accounts alone: the control plane is also other tests'.
  const text = (await readFile('kustomize/base/policies/task-objects.yaml', 'utf8'))
    .replaceAll('hyperfleet-system', world.namespace)
    .replaceAll('hyperfleet-tasks', world.accounts)
    .replaceAll(/muster-task-(objects|namespaces)/g, `$&-${world.namespace}`)
  const file = join(await temporaryFolder('policies'), 'task-objects.yaml')
  await writeFile(file, text)
  await world.plane.kubectl('apply', '--server-side', '-f', file)
  await world.manager()
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** A task for the clusters of its name, which applies the namespace with these labels. */
const declare = async (name: string, labels: Readonly<Record<string, string>>): Promise<void> => {
  const manifest = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: shared, labels } }
  await world.declare(name, {
    selector: { matchLabels: { [name]: 'yes' } },
    // Without the right to adaptertasks/objects, by which an administrator lets a task change them.
    serviceAccountName: 'namespaces',
    resources: [{ name: 'shared', manifest, discovery: { by_name: shared } }],
  } as DeepPartial<AdapterTaskSpec>)
  await world.until(name, 'Working')
}

const grantNamespaces = async (): Promise<void> => {
  const { kubectl } = world.plane
  const role = `namespaces-${world.namespace}`
  await kubectl('create', 'serviceaccount', 'namespaces', '-n', world.accounts)
  await kubectl('create', 'clusterrole', role, '--verb=get,list,watch,create,patch,delete', '--resource=namespaces')
  const subject = `--serviceaccount=${world.accounts}:namespaces`
  await kubectl('create', 'clusterrolebinding', role, `--clusterrole=${role}`, subject)
}

// ADAPTER-121
test('a task that gives up a namespace, whose level of Pod Security the policy keeps, leaves it, and its cluster is gone', async () => {
  await grantNamespaces()
  const at = `/api/v1/namespaces/${shared}`
  const isReady = (id: string) =>
    world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))
  const remove = async (id: string) => {
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
  }
  // The policy takes a moment to hold.
  const label = ['label', 'namespace', world.namespace, 'muster.dev/reads-metrics=true', '--dry-run=server']
  const asTask = `--as=system:serviceaccount:${world.accounts}:namespaces`
  await vi.waitFor(
    () => expect(world.plane.kubectl(...label, asTask)).rejects.toThrow(/ValidatingAdmissionPolicy/),
    PATIENCE,
  )

  await declare('strict', { [LEVEL]: 'restricted' })
  await declare('plain', {})
  const strict = (await world.create('strict', {}, { strict: 'yes' })).id
  await isReady(strict)
  const plain = (await world.create('plain', {}, { plain: 'yes' })).id
  await isReady(plain)

  await remove(strict)
  expect((await world.object(at))?.metadata).toMatchObject({ labels: { [LEVEL]: 'restricted' } })
  await remove(plain)
  await vi.waitFor(async () => expect(await world.object(at)).toBeUndefined(), PATIENCE)
}, 240_000)
