/** The upgrade from a release in which accounts of providers read Secrets everywhere, as docs/upgrade.md has it. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { NAMESPACE } from '#cmd/security/model.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { REPOSITORY, readPage } from '../docs/page.ts'
import { poolsAtWork } from '../providers/pools.ts'

/** What the release before gave the account, of which this is about Secrets. */
const FORMER = `
apiVersion: v1
kind: ServiceAccount
metadata:
  name: cluster-hosted
  namespace: hyperfleet-tasks
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: muster-cluster-hosted
rules:
  - apiGroups: [""]
    resources: [secrets]
    verbs: [get, create, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: muster-cluster-hosted
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: muster-cluster-hosted
subjects:
  - kind: ServiceAccount
    name: cluster-hosted
    namespace: hyperfleet-tasks
`
const CLUSTERS = 5
/** A line that is a namespace of such a cluster. */
const WAITING = /^hosted-\w+$/m

/** As a person runs it, from the page. @returns its end, and when it prints that it waits */
const startUpgrade = async (kubeconfig: string) => {
  const { blocks } = await readPage('docs/upgrade.md')
  const commands = blocks.map((block) => block.commands).find((text) => text.includes('/beside.yaml'))
  const binaries = await ensureBinaries(CONTROL_PLANE, console.error)
  const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${binaries}:${process.env.PATH}` }
  const running = promisify(execFile)('bash', ['-euc', commands ?? 'exit 1'], { cwd: REPOSITORY, env })
  const waits = new Promise<void>((resolve) => {
    running.child.stdout?.on('data', (text) => {
      if (WAITING.test(String(text))) resolve()
    })
  })
  return { ended: running.then(() => undefined), waits }
}

test('POOL-84: while rights everywhere become rights beside clusters, the account is refused nothing beside those that were there', {
  timeout: 240_000,
}, async () => {
  await using pools = await poolsAtWork([])
  const former = join(await temporaryFolder('former'), 'rights.yaml')
  await writeFile(former, FORMER)
  await pools.cluster.kubectl('apply', '-f', former)
  const places = await pools.pool('hosted', CLUSTERS)
  for (const place of [NAMESPACE, ...places]) await pools.putSecret(place)
  const reads = await pools.readerOf('cluster-hosted')
  const answersAtOnce = () => Promise.all(places.map(reads))
  const all = places.map(() => true)
  expect(await answersAtOnce()).toEqual(all)
  expect(await reads(NAMESPACE)).toBe(true)

  // As slow as a manager may be.
  await pools.manager.stop()
  const { ended, waits } = await startUpgrade(pools.cluster.kubeconfig)
  await Promise.race([waits, ended])
  expect(await answersAtOnce()).toEqual(all)
  await pools.manager.start()
  let isOver = false
  const end = () => {
    isOver = true
  }
  ended.then(end, end)
  while (!isOver) expect(await answersAtOnce()).toEqual(all)
  await ended
  expect(await answersAtOnce()).toEqual(all)
  expect(await reads(NAMESPACE)).toBe(false)
})
