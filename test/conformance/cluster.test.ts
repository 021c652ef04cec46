import { execFile } from 'node:child_process'
import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { assets } from '#hack/cluster/assets.ts'
import type { Cluster, ClusterProvider, ClusterRequest } from '#hack/cluster/cluster.ts'
import { existing } from '#hack/cluster/existing.ts'
import { privateKindMissing, startPrivateKind } from '#hack/cluster/kind/private.ts'
import { local } from '#hack/cluster/local/provider.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureDebianRoot } from '#hack/debian/root.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { writeImageArchive } from '#hack/image/archive.ts'
import { NODE_PACKAGES } from '#hack/kindnode/node-root.ts'
import { temporaryFolder } from '#hack/process/folder.ts'

const run = promisify(execFile)

const PROGRAMS = ['kube-apiserver', 'kube-controller-manager', 'etcd'] as const

/** What every cluster must do, wherever it comes from. Skips carry a reason. */

interface Case {
  readonly provider: ClusterProvider
  readonly request: ClusterRequest
  /** Why Jobs don't run, when they don't. */
  readonly noNodes?: string
}

/** Of the Job. On kind it is loaded, for nothing can be pulled there; elsewhere it is not looked for. */
const IMAGE = 'docker.io/muster/conformance:local'

/** kind as `npm run up` starts it, in an engine that changes nothing on this machine. */
const kind: ClusterProvider = {
  title: 'kind in a Docker engine of its own',
  unavailable: () => Promise.resolve(privateKindMissing()),
  start: async ({ say, signal }) => {
    const cluster = await startPrivateKind({ say, signal })
    const folder = await temporaryFolder('image')
    await mkdir(join(folder, 'root', 'bin'), { recursive: true })
    const debian = await ensureDebianRoot(NODE_PACKAGES, say)
    await copyFile(join(debian, 'bin/busybox'), join(folder, 'root/bin/true'))
    const archive = join(folder, 'image.tar')
    await writeImageArchive(archive, { folder: join(folder, 'root'), tags: [IMAGE] })
    await cluster.load(archive)
    return cluster
  },
}

/** One that was there before. */
const running = await local.start({ request: {}, say: console.error })
afterAll(() => running.stop())

const CASES: Readonly<Record<string, Case>> = {
  existing: {
    provider: existing,
    request: { kubeconfig: running.kubeconfig },
  },
  assets: { provider: assets, request: {}, noNodes: "envtest's binaries have no scheduler" },
  local: { provider: local, request: {} },
  kind: { provider: kind, request: {} },
}

/** As setup-envtest leaves them. */
const envtestFolder = async (): Promise<string> => {
  const folder = join(await temporaryFolder('assets'), 'k8s')
  await mkdir(folder)
  const binaries = await ensureBinaries(CONTROL_PLANE, console.error)
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) {
    await symlink(join(binaries, name), join(folder, name))
  }
  return folder
}

const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'done' },
  spec: {
    template: {
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'done', image: IMAGE, imagePullPolicy: 'IfNotPresent', command: ['true'] }],
      },
    },
  },
}

beforeAll(async () => {
  process.env.KUBEBUILDER_ASSETS = await envtestFolder()
})
afterAll(() => {
  delete process.env.KUBEBUILDER_ASSETS
})

describe.for(Object.entries(CASES))('a cluster of the provider "%s"', ([name, { provider, request, noNodes }]) => {
  let cluster: Cluster | undefined
  let missing: string | undefined

  beforeAll(async () => {
    missing = await provider.unavailable(request)
    if (missing === undefined) cluster = await provider.start({ request, say: console.error })
  }, 900_000)
  afterAll(() => cluster?.stop())

  const started = (skip: (reason: string) => never): Cluster => cluster ?? skip(missing ?? 'it did not start')

  test('only kind may be missing, and not in CI, whose machine can have it', () => {
    if (name !== 'kind' || process.env.CI === 'true') expect(missing).toBeUndefined()
  })

  test('keeps what is written to it', async ({ skip }) => {
    const { kubectl } = started(skip)
    const namespace = `conformance-${name}`
    await kubectl(['create', 'namespace', namespace])
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept', namespace }, data: { a: 'b' } }
    await kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(config) })
    expect(await kubectl(['get', 'configmap', 'kept', '-n', namespace, '-o', 'jsonpath={.data.a}'])).toBe('b')
  })

  test('has a kubeconfig whose context reaches it', async ({ skip }) => {
    const { kubeconfig, context, kubectl } = started(skip)
    const version = await kubectl([`--kubeconfig=${kubeconfig}`, `--context=${context}`, 'get', '--raw', '/version'])
    expect(JSON.parse(version)).toMatchObject({ major: '1' })
  })

  test('checks what accounts may do', async ({ skip }) => {
    const { kubectl } = started(skip)
    await expect(kubectl(['get', 'secrets', '-A', '--as=somebody'])).rejects.toThrow('Forbidden')
  })

  test(
    noNodes === undefined ? 'runs a Job to its end' : `keeps a Job that never runs: ${noNodes}`,
    async ({ skip }) => {
      const { kubectl } = started(skip)
      await kubectl(['apply', '-f', '-'], { input: JSON.stringify(JOB) })
      if (noNodes === undefined) await kubectl(['wait', '--for=condition=Complete', 'job/done', '--timeout=50s'])
      const succeeded = await kubectl(['get', 'job', 'done', '-o', 'jsonpath={.status.succeeded}'])
      expect(succeeded).toBe(noNodes === undefined ? '1' : '')
    },
  )

  test('gives the programs of its control plane, by which further ones run here', async ({ skip }) => {
    const { ours, programs } = started(skip)
    if (!ours || programs === undefined)
      return skip('nothing else is started beside a cluster of others, or by parts of one')
    const folder = (await programs()) ?? ''
    const versions = PROGRAMS.map(async (program) => (await run(join(folder, program), ['--version'])).stdout)
    for (const version of await Promise.all(versions)) expect(version).toMatch(/^(Kubernetes v1|etcd Version: 3)\.\d+/)
    await run(join(folder, 'kubectl'), ['version', '--client'])
  })

  test('stops what it started and nothing else', async ({ skip }) => {
    const { ours, stop, kubectl } = started(skip)
    await stop()
    const answer = kubectl(['get', '--raw', '/readyz', '--request-timeout=5s'])
    if (ours) await expect(answer).rejects.toThrow()
    else expect(await answer).toBe('ok')
    cluster = undefined
  })
})
