/** Stands in for a kubelet: the pods of a hosted cluster are of the API server, and what would run in them runs as processes here. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { type Child, startChild } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { type ControlPlane, RestError, startMuster } from '#test/harness/index.ts'

interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
}

export interface Pod {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly labels: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly spec: {
    readonly serviceAccountName: string
    readonly initContainers?: readonly Container[]
    readonly containers: readonly Container[]
    readonly volumes: readonly {
      readonly name: string
      readonly secret?: { readonly secretName: string; readonly items: readonly { readonly key: string }[] }
    }[]
  }
  readonly status: { readonly phase: string }
}

export interface Kubelet extends AsyncDisposable {
  /** The pods that there are in a namespace. */
  pods(): Promise<readonly Pod[]>
  /** Port of the API server that runs. */
  readonly port: number
  /** Names of the programs that run. */
  running(): readonly string[]
}

const READY = { phase: 'Running', conditions: ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'True' })) }

export const startKubelet = async (plane: ControlPlane, namespace: string): Promise<Kubelet> => {
  const base = `/api/v1/namespaces/${namespace}`
  const binaries = await ensureBinaries(CONTROL_PLANE, console.error)
  const home = await temporaryFolder('kubelet')
  const [data, pki] = [join(home, 'data'), join(home, 'pki')]
  await mkdir(data)
  await mkdir(pki)
  const ports = { '2379': await freePort(), '2380': await freePort(), '6443': await freePort() }
  const begun = new Set<string>()
  const children: Child[] = []
  const ending = new AbortController()

  /** As the pod's own network and volumes would have it. */
  const here = (text: string): string =>
    Object.entries(ports)
      .reduce((rest, [port, ours]) => rest.replaceAll(port, String(ours)), text)
      .replaceAll('/pki/', `${pki}/`)
      .replaceAll('/data/', `${data}/`)
      .replaceAll('$(POD_IP)', '127.0.0.1')

  const pods = async () => (await plane.rest<{ items: readonly Pod[] }>('GET', `${base}/pods`)).items
  const report = async (pod: Pod, status: object): Promise<void> => {
    try {
      await plane.rest('PATCH', `${base}/pods/${pod.metadata.name}/status`, { status })
    } catch (error) {
      // It was deleted meanwhile.
      if (!(error instanceof RestError && error.status === 404)) throw error
    }
  }

  const runJob = async (pod: Pod): Promise<void> => {
    const [container] = pod.spec.containers
    const kubeconfig = await plane.kubeconfigFor(pod.spec.serviceAccountName, namespace)
    await using process = await startMuster([...(container?.args ?? []), `--kubeconfig=${kubeconfig}`])
    const { code } = await process.exited
    if (code !== 0) throw new Error(process.output())
    await report(pod, { phase: 'Succeeded' })
  }

  const mounted = new Map<string, string>()
  /** The files of the Secret, as they are now: those that have changed are written. */
  const mountSecret = async (pod: Pod): Promise<void> => {
    const secret = pod.spec.volumes.find(({ name }) => name === 'pki')?.secret
    const found = await plane.rest<{ data: Record<string, string> }>('GET', `${base}/secrets/${secret?.secretName}`)
    for (const { key } of secret?.items ?? []) {
      const text = here(Buffer.from(found.data[key] ?? '', 'base64').toString())
      if (mounted.get(key) !== text) await writeFile(join(pki, key), text, { mode: 0o600 })
      mounted.set(key, text)
    }
  }

  const runControlPlane = async (pod: Pod): Promise<void> => {
    await mountSecret(pod)
    for (const { name, command = [] } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const [program = '', ...args] = command.map(here)
      const logFile = join(home, `${name}.log`)
      children.push(await startChild({ command: join(binaries, program), args, logFile, guarded: true }))
      if (name === 'kube-apiserver') await untilServing(ports['6443'], children.at(-1))
    }
    await report(pod, READY)
  }

  const stopAll = async (): Promise<void> => {
    for (const child of children.splice(0).toReversed()) await child.stop()
  }

  const look = async (): Promise<void> => {
    const all = await pods()
    const isControlPlane = ({ metadata }: Pod) => metadata.labels['hosted-cluster'] !== undefined
    if (!all.some(isControlPlane)) await stopAll()
    for (const pod of all) {
      if (pod.metadata.deletionTimestamp !== undefined) continue
      if (begun.has(pod.metadata.uid)) {
        if (isControlPlane(pod)) await mountSecret(pod)
        continue
      }
      begun.add(pod.metadata.uid)
      if (isControlPlane(pod)) {
        await stopAll()
        await runControlPlane(pod)
      } else await runJob(pod)
    }
  }
  const loop = (async () => {
    while (!ending.signal.aborted) {
      await look()
      await delay(100)
    }
  })()
  // Shown by the test that waits for what it does.
  loop.catch((error: unknown) => console.error('the stand-in of a kubelet ended:', error))

  return {
    pods,
    port: ports['6443'],
    running: () => children.filter((child) => child.exit() === undefined).map(({ name }) => name),
    async [Symbol.asyncDispose]() {
      ending.abort()
      await loop.catch(() => undefined)
      await stopAll()
    },
  }
}

/** As kubelet asks: without credentials, whatever the certificate. */
const untilServing = async (port: number, child: Child | undefined): Promise<void> => {
  const { Agent, request } = await import('undici')
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  for (;;) {
    const status = await request(`https://127.0.0.1:${port}/readyz`, { dispatcher }).then(
      async ({ statusCode, body }) => {
        await body.dump()
        return statusCode
      },
      () => undefined,
    )
    if (status === 200) return
    if (child?.exit() !== undefined) throw new Error(`the API server has ended: ${child.logFile}`)
    await delay(100)
  }
}
