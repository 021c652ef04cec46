/** manifests/install.yaml as people without Git use it: one file, applied once, to a cluster that has nothing of ours. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newSigningKey, publicKeysOf, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { INSTALL, installFile } from '#hack/codegen/install.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane, startMuster } from '#test/harness/index.ts'
import { commandsWith, readPage } from '../docs/page.ts'
import type { Manifest } from './rules/manifest.ts'
import { workloadOf } from './rules/workload.ts'

const NAMESPACE = 'hyperfleet-system'

let cluster: OwnControlPlane
let objects: readonly Manifest[]

beforeAll(async () => {
  objects = loadAll(await readFile(INSTALL, 'utf8')) as Manifest[]
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver'], crds: false })
})

afterAll(async () => {
  await cluster?.stop()
})

test('it is what kustomize/install builds (else run "npm run codegen")', async () => {
  const { text } = await installFile(join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl'))
  expect(await readFile(INSTALL, 'utf8')).toBe(text)
})

/** As docs/upgrade.md has it. */
const apply = async (): Promise<readonly string[]> => {
  const [, ...words] = commandsWith(await readPage('docs/upgrade.md'), 'manifests/install.yaml').split(' ')
  return words
}

test.each([
  ['the command of docs/upgrade.md', apply],
  ['kubectl apply', () => ['apply', '--server-side=false', '-f', INSTALL]],
])('%s takes all of it at once', { timeout: 180_000 }, async (_, words) => {
  const applied = await cluster.kubectl(...(await words()))
  expect(applied.trimEnd().split('\n')).toHaveLength(objects.length)
})

test('each manager in it starts with its own arguments and the rights of its ServiceAccount', {
  timeout: 300_000,
}, async () => {
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', 'manifests/crds')
  const managers = objects.flatMap((object) => {
    const { serviceAccountName, containers } = workloadOf(object)?.template.spec ?? {}
    const [container] = containers ?? []
    return container?.command === undefined ? [] : [{ serviceAccountName, container }]
  })
  expect(managers.length).toBeGreaterThan(4)
  // Pods wait until muster nats has made them.
  const folder = await temporaryFolder('signing')
  const signing = newSigningKey()
  await writeFile(join(folder, 'keys.pem'), signing)
  await writeFile(join(folder, 'public.pem'), publicKeysOf(readSigningKeys(signing)))
  for (const { serviceAccountName = 'default', container } of managers) {
    const { command = [], args = [] } = container
    const anywhere = [...command.slice(1), ...args].map((arg) =>
      arg.replace(/(-bind-address)=:\d+$/, '$1=127.0.0.1:0').replace(/\/etc\/(fleet-signing|nats-devices)/, folder),
    )
    const kubeconfig = await cluster.kubeconfigFor(serviceAccountName, NAMESPACE)
    await using manager = await startMuster([...anywhere, `--kubeconfig=${kubeconfig}`], { POD_NAMESPACE: NAMESPACE })
    await manager.line('caches are filled')
  }
})
