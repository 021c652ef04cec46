/** The processes of one cluster: its API server and its controller manager. */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { isReady } from '#hack/cluster/local/readiness.ts'
import { replaceFile } from '#lib/replace-file.ts'
import { authorityFile, ensureCertificates, leafFile } from './certificates.ts'
import { type Daemon, findDaemon, startDaemon, stopDaemon } from './daemon.ts'
import { prefixOf } from './etcd.ts'
import type { ClusterRecord } from './record.ts'

/**
 * Go collects garbage once the heap has grown by so many percent, 100 by default. A cluster that waits to be claimed has nothing to do:
 * with 40 its API server takes 45 MiB less, and half a second more of CPU for its start.
 */
const GOGC = '40'

/** In the order in which they start. */
export const PARTS = ['kube-apiserver', 'kube-controller-manager'] as const

export type Part = (typeof PARTS)[number]

export interface ControlPlaneOptions {
  readonly binaries: string
  /** Of this cluster. */
  readonly folder: string
  readonly etcdUrl: string
  readonly validityMs: number
  readonly guarded: boolean
}

export class ControlPlane {
  readonly #record: ClusterRecord
  readonly #options: ControlPlaneOptions

  constructor(record: ClusterRecord, options: ControlPlaneOptions) {
    this.#record = record
    this.#options = options
  }

  get server(): string {
    return `https://127.0.0.1:${this.#record.port}`
  }

  daemon(part: Part): Daemon {
    return { name: part, folder: this.#options.folder }
  }

  async isRunning(part: Part): Promise<boolean> {
    return (await findDaemon(this.daemon(part))) !== undefined
  }

  /** The API server answers that it is ready. */
  async isReady(): Promise<boolean> {
    const { folder } = this.#options
    const pair = await readFile(leafFile(folder, 'admin'))
    return isReady(this.server, { ca: await readFile(authorityFile(folder)), cert: pair, key: pair })
  }

  start(part: Part): Promise<void> {
    const { binaries, guarded } = this.#options
    const args = part === 'kube-apiserver' ? this.#apiServerArgs() : this.#controllerManagerArgs()
    const env = { GOGC, ...process.env }
    return startDaemon({ ...this.daemon(part), command: join(binaries, part), args, env, guarded })
  }

  /** @param graceMs how long it may take to end by itself */
  stop(part: Part, graceMs?: number): Promise<void> {
    return stopDaemon(this.daemon(part), graceMs)
  }

  /** Certificates, renewed when they are about to expire, keys and kubeconfigs. */
  async ensureCredentials(now: number): Promise<void> {
    const { folder, validityMs } = this.#options
    await ensureCertificates(folder, validityMs, now)
    if (!existsSync(this.#serviceAccountKey)) {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      await replaceFile(this.#serviceAccountKey, privateKey.export({ format: 'pem', type: 'sec1' }).toString())
    }
    const own = leafFile(folder, 'controller-manager')
    const user = { 'client-certificate': own, 'client-key': own }
    if (!existsSync(this.#ownKubeconfig)) await replaceFile(this.#ownKubeconfig, await this.#kubeconfigOf(user))
  }

  /** Of its admin; it needs no other file. @param record as it is now */
  async kubeconfig({ name, spec }: ClusterRecord): Promise<string> {
    const pair = await readFile(leafFile(this.#options.folder, 'admin'), 'base64')
    return this.#kubeconfigOf({ 'client-certificate-data': pair, 'client-key-data': pair }, spec.domain || name)
  }

  async #kubeconfigOf(user: Readonly<Record<string, string>>, name = this.#record.name): Promise<string> {
    const authority = await readFile(authorityFile(this.#options.folder), 'base64')
    return dump({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': name,
      clusters: [{ name, cluster: { server: this.server, 'certificate-authority-data': authority } }],
      users: [{ name: 'admin', user }],
      contexts: [{ name, context: { cluster: name, user: 'admin' } }],
    })
  }

  get #serviceAccountKey(): string {
    return join(this.#options.folder, 'service-account.key')
  }

  get #ownKubeconfig(): string {
    return join(this.#options.folder, 'controller-manager.kubeconfig')
  }

  #apiServerArgs(): readonly string[] {
    const { folder, etcdUrl } = this.#options
    const { uid, port, spec } = this.#record
    return [
      `--etcd-servers=${etcdUrl}`,
      `--etcd-prefix=${prefixOf(uid)}`,
      '--bind-address=127.0.0.1',
      // Otherwise a machine without a network has no address to advertise, and endpoints may not be a loopback address.
      '--advertise-address=127.0.0.1',
      '--endpoint-reconciler-type=none',
      `--secure-port=${port}`,
      `--client-ca-file=${authorityFile(folder)}`,
      `--tls-cert-file=${leafFile(folder, 'apiserver')}`,
      `--tls-private-key-file=${leafFile(folder, 'apiserver')}`,
      '--anonymous-auth=false',
      '--authorization-mode=RBAC',
      '--allow-privileged=true',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-signing-key-file=${this.#serviceAccountKey}`,
      `--service-account-key-file=${this.#serviceAccountKey}`,
      `--service-cluster-ip-range=${spec.serviceCidr}`,
      ...(spec.featureGates === '' ? [] : [`--feature-gates=${spec.featureGates}`]),
      '--profiling=false',
    ]
  }

  #controllerManagerArgs(): readonly string[] {
    const { folder } = this.#options
    return [
      `--kubeconfig=${this.#ownKubeconfig}`,
      '--use-service-account-credentials=true',
      `--service-account-private-key-file=${this.#serviceAccountKey}`,
      `--root-ca-file=${authorityFile(folder)}`,
      '--controllers=*,-node-ipam-controller',
      '--leader-elect=false',
      '--secure-port=0',
      '--profiling=false',
    ]
  }
}
