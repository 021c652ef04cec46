/** NATS as it is delivered: nats-server with the shipped configuration, and `muster nats` beside it with the shipped rights. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { createUser } from '@nats-io/nkeys'
import { type ConnectionOptions, connect, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node'
import { load, loadAll } from 'js-yaml'
import { vi } from 'vitest'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { type Nats, startNats } from '#hack/nats/nats.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { type ControlPlane, type MusterProcess, startMuster } from '#test/harness/index.ts'

const SHIPPED = join(import.meta.dirname, '../../../kustomize/base/nats')
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

interface RoleManifest {
  readonly kind: string
  readonly rules: readonly object[]
}

export interface Device {
  readonly seed: Uint8Array
  readonly publicKey: string
}

export interface NatsWorld extends AsyncDisposable {
  readonly namespace: string
  readonly nats: Nats
  readonly keeper: MusterProcess
  /** What `muster nats` writes, and the server's configuration beside it. */
  readonly folder: string
  readonly store: string
  /** The path of a file with the seed of a user, as a pod has it. */
  seedOf(secret: 'nats-api' | 'nats-fleet'): Promise<string>
  /** The path of the authorities' certificates, as a pod has it. */
  ca(): Promise<string>
  /** A connection that ends with the world. */
  as(secret: 'nats-api' | 'nats-fleet'): Promise<NatsConnection>
  asDevice(device: Device, options?: ConnectionOptions): Promise<NatsConnection>
  open(options: ConnectionOptions): Promise<NatsConnection>
  /** Declares public keys of devices, as a person does. */
  declare(keys: Readonly<Record<string, string>>): Promise<void>
  /** Waits until the server lets this device in. */
  lets(device: Device): Promise<void>
}

export const newDevice = (): Device => {
  const pair = createUser()
  return { seed: pair.getSeed(), publicKey: pair.getPublicKey() }
}

export const PATIENCE = { timeout: 60_000, interval: 200 }

/** @param store of a server that ran before, which is taken over */
export const natsWorld = async (plane: ControlPlane, store?: string): Promise<NatsWorld> => {
  await using stack = new AsyncDisposableStack()
  const namespace = await plane.namespace()
  await grant(plane, namespace)
  const folder = await temporaryFolder('nats-users')
  const volume = store ?? (await temporaryFolder('nats-store'))
  const { config, data, flags } = await shippedOn(volume, folder)
  const port = await freePort()
  const keeper = stack.use(
    await startMuster([
      'nats',
      `--namespace=${namespace}`,
      `--output=${join(folder, 'muster-nats')}`,
      ...flags,
      '--hosts=localhost',
      `--nats-url=tls://127.0.0.1:${port}`,
      '--health-probe-bind-address=0',
      `--kubeconfig=${await plane.kubeconfigFor('nats', namespace)}`,
    ]),
  )
  await keeper.line('the users of NATS were written')
  const nats = await startNats(await ensureBinaries(CONTROL_PLANE, console.error), data, config, port)
  stack.defer(() => nats.stop())
  await keeper.line('nats-server has read its configuration')

  const own = stack.move()
  const read = async (kind: string, name: string, key: string): Promise<string> => {
    const { data: found } = await plane.rest<{ data: Record<string, string> }>(
      'GET',
      `/api/v1/namespaces/${namespace}/${kind}/${name}`,
    )
    return found[key] ?? ''
  }
  const fileOf = async (name: string, text: string) => {
    const file = join(folder, name)
    await writeFile(file, text)
    return file
  }
  const ca = async () => fileOf('ca.crt', await read('configmaps', 'nats-ca', 'ca.crt'))
  const seedOf: NatsWorld['seedOf'] = async (secret) =>
    fileOf(secret, Buffer.from(await read('secrets', secret, 'seed'), 'base64').toString())
  const open = async (options: ConnectionOptions) => {
    const connection = await connect({ servers: nats.url, reconnect: false, ...options })
    own.defer(() => connection.close())
    return connection
  }
  const openTls = async (options: ConnectionOptions) => open({ tls: { caFile: await ca() }, ...options })
  return {
    namespace,
    nats,
    keeper,
    folder,
    store: volume,
    seedOf,
    ca,
    open,
    as: async (secret) => openTls({ authenticator: nkeyAuthenticator(await readFile(await seedOf(secret))) }),
    asDevice: ({ seed }, options) => openTls({ authenticator: nkeyAuthenticator(seed), ...options }),
    declare: async (keys) => {
      await plane.kubectl('delete', 'configmap', 'nats-devices', '--ignore-not-found', `--namespace=${namespace}`)
      const metadata = { name: 'nats-devices' }
      await plane.rest('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata, data: keys })
    },
    lets: ({ seed }) =>
      vi.waitFor(async () => (await connect(await options(nats.url, seed, await ca()))).close(), PATIENCE),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}

const options = async (servers: string, seed: Uint8Array, caFile: string): Promise<ConnectionOptions> => ({
  servers,
  reconnect: false,
  tls: { caFile },
  authenticator: nkeyAuthenticator(seed),
})

/** The ServiceAccount that is delivered, with its Role, in a namespace of the test. */
const grant = async (plane: ControlPlane, namespace: string): Promise<void> => {
  await plane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'nats' } })
  const manifests = loadAll(await readFile(join(SHIPPED, '../rbac/nats.yaml'), 'utf8')) as RoleManifest[]
  const rules = manifests.find(({ kind }) => kind === 'Role')?.rules
  await plane.rest('POST', `${RBAC}/namespaces/${namespace}/roles`, { metadata: { name: 'nats' }, rules })
  await plane.rest('POST', `${RBAC}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: 'nats' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'nats' },
    subjects: [{ kind: 'ServiceAccount', name: 'nats', namespace }],
  })
}

/** Where the volume is in the pod. */
const MOUNTED = '/data'

interface StatefulSet {
  readonly spec: { readonly template: { readonly spec: { readonly initContainers: readonly { args: string[] }[] } } }
}

/**
 * What is delivered, with a folder for the volume: the configuration, but for its ports, which the harness says; where the server keeps
 * its streams; and the flags by which `muster nats` knows of that.
 */
const shippedOn = async (volume: string, folder: string) => {
  await mkdir(join(folder, 'nats'))
  const config = join(folder, 'nats/nats.conf')
  const shipped = await readFile(join(SHIPPED, 'nats.conf'), 'utf8')
  await writeFile(config, shipped.replace(/^(http_)?port:.*$/gm, '').replace(/^ *store_dir:.*$/m, ''))
  const { spec } = load(await readFile(join(SHIPPED, 'statefulset.yaml'), 'utf8')) as StatefulSet
  const args = spec.template.spec.initContainers.flatMap((container) => container.args)
  const data = (/store_dir: (.+)/.exec(shipped)?.[1] ?? '').replace(MOUNTED, volume)
  await mkdir(data, { recursive: true })
  return {
    config,
    data,
    flags: args
      .filter((arg) => arg.includes('store-dir=') || arg.startsWith('--api-hosts='))
      .map((arg) => arg.replace(`=${MOUNTED}`, `=${volume}`)),
  }
}

/** Names of the streams that a user sees. */
export const streamsOf = async (connection: NatsConnection): Promise<readonly string[]> => {
  const { streams } = await jetstreamManager(connection)
  return (await Array.fromAsync(streams.list())).map(({ config }) => config.name).toSorted()
}
