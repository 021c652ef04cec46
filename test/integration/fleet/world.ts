/** What the fleet's tests stand on: a real API server, a real NATS of their own, operators with the rights that are delivered. */
import { join } from 'node:path'
import { type KV, Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { Registry } from 'prom-client'
import { vi } from 'vitest'
import type { FleetView, FleetViewRef } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import {
  desiredCodec,
  heartbeatCodec,
  infoCodec,
  type State,
  stateCodec,
} from '#apis/fleet.nationtech.io/kv/payload.ts'
import { readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { Deployment, type DeploymentSpec } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { fleet } from '#controllers/fleet/index.ts'
import { readCredentials } from '#lib/nats/security.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import type { DeepPartial } from '#operator/index.ts'
import {
  accountOf,
  type Command,
  type ControlPlane,
  type MusterProcess,
  recorder,
  runOperator,
  sharedControlPlane,
  startMuster,
  startNats,
} from '#test/harness/index.ts'

/** Resolves when the operator has read everything. The last release says it without the rest of the line. */
export const converged = (operator: MusterProcess) => operator.line(({ msg }) => msg.includes('the fleet was read'))

/** Long enough for a busy machine; nothing waits so long when all is well. */
export const PATIENCE = { timeout: 50_000, interval: 50 }

export interface FleetWorld extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly namespace: string
  readonly nats: Awaited<ReturnType<typeof startNats>>
  /** As admin. */
  readonly kube: Api
  /** Path of a kubeconfig with the rights of the operator. */
  kubeconfig(): Promise<string>
  /** An operator in this process. */
  operator(between?: Between): Promise<Running>
  /** An operator in a process of its own, which can be killed. */
  process(between?: Between): Promise<MusterProcess>
  /** A device that is online: it has told its labels, and has a heartbeat. */
  device(
    name: string,
    labels?: Readonly<Record<string, string>>,
    inventory?: Readonly<Record<string, string>>,
  ): Promise<Machine>
  /** Makes a Deployment, for the devices of this world, or of these labels. */
  deploy(name: string, spec?: DeepPartial<DeploymentSpec>): Promise<Deployment>
  change(name: string, body: object): Promise<Deployment>
  deployment(name: string): Promise<Deployment | undefined>
  /** A bucket, as admin. Opened anew for each call: NATS comes and goes. */
  bucket<T>(name: Bucket, use: (kv: KV) => Promise<T>): Promise<T>
  /** Keys and texts of a bucket, as they are. */
  texts(name: Bucket): Promise<Readonly<Record<string, string>>>
  /** How often a bucket was written. */
  revision(name: Bucket): Promise<number>
  until<T>(what: () => Promise<T> | T): Promise<T>
}

export type Bucket = 'fleet-desired' | 'fleet-state' | 'fleet-info' | 'fleet-heartbeat'

/** Proxies that stand between an operator and its servers. */
export interface Between {
  readonly natsUrl?: string
  /** Of the API server. */
  readonly server?: string
  /** Instead of the checkout's, for a process. */
  readonly command?: Command
  /** The namespace whose Deployments an operator in this process works on; the world's when undefined. */
  readonly of?: string
  /** Labels that devices choose themselves; all by default, which spares each test to set them. */
  readonly deviceLabels?: readonly string[]
  /** A file with the keys that entries are signed by. */
  readonly signingKeys?: string
  /** A folder with the public keys of devices, for an operator in this process. */
  readonly deviceKeys?: string
}

export interface Running {
  readonly view: FleetView
  readonly registry: Registry
  readonly lines: readonly string[]
  stop(): Promise<void>
}

/** A device as the operator sees one: what it writes into NATS. */
export interface Machine {
  /** With the prefix of this world. */
  readonly name: string
  beat(): Promise<void>
  /** Its heartbeat expires now. */
  silence(): Promise<void>
  tell(labels: Readonly<Record<string, string>>): Promise<void>
  /** What it is to run, by Deployment. */
  wanted(): Promise<Readonly<Record<string, number>>>
  /** Says how a Deployment does; without more: that what it was given runs. */
  say(deployment: string, state?: Partial<State>): Promise<void>
}

export const scoreOf = (word: string): DeploymentSpec['score'] => ({ type: 'Process', data: { command: [word] } })

/** @param users a folder of `muster fleet credentials`, when NATS is to let in no others */
export const fleetWorld = async (users?: string): Promise<FleetWorld> => {
  const plane = await sharedControlPlane()
  const namespace = await plane.namespace('fleet')
  const nats = await startNats(users && join(users, 'nats-users.conf'))
  const credentials = users && join(users, 'operator.nk')
  const authenticator = await readCredentials(credentials)
  const account = await accountOf(plane, 'fleet', namespace)
  const transport = await plane.transport()
  const kube = createApi(transport)
  const running = new Set<{ stop(): Promise<unknown> }>()

  const bucket: FleetWorld['bucket'] = async (name, use) => {
    const connection = await connect({ servers: nats.url, reconnect: false, ...(authenticator && { authenticator }) })
    try {
      return await use(await new Kvm(connection).open(name, { allow_direct: true }))
    } finally {
      await connection.close()
    }
  }
  const put = (name: Bucket, key: string, bytes: Uint8Array) => bucket(name, (kv) => kv.put(key, bytes))

  const world: FleetWorld = {
    plane,
    namespace,
    nats,
    kube,
    kubeconfig: () => account.kubeconfig(),
    bucket,
    texts: (name) =>
      bucket(name, async (kv) => {
        const texts: Record<string, string> = {}
        for await (const key of await kv.keys()) {
          const entry = await kv.get(key)
          if (entry?.operation === 'PUT') texts[key] = entry.string()
        }
        return texts
      }),
    revision: (name) => bucket(name, async (kv) => (await kv.status()).streamInfo.state.last_seq),
    async operator({ natsUrl = nats.url, server, of = namespace, deviceLabels = ['*'], signingKeys, deviceKeys } = {}) {
      const registry = new Registry()
      const lines: string[] = []
      const viewRef: FleetViewRef = { view: undefined }
      const controllers = [
        fleet({
          nats: { url: natsUrl, credentials },
          namespace: of,
          deviceLabels,
          ...(signingKeys !== undefined && { signingKeys: await FleetKeyFile.open(signingKeys, readSigningKeys) }),
          ...(deviceKeys !== undefined && { deviceKeys: await DeviceKeyFolder.open(deviceKeys) }),
          leaseNamespace: namespace,
          identity: `replica-${Math.random().toString(36).slice(2)}`,
          registry,
          viewRef,
        }),
      ]
      const kubeconfig = await account.kubeconfig(server)
      const manager = await runOperator(kubeconfig, { controllers, namespaces: [of], log: recorder(lines) })
      const stop = async () => {
        running.delete(handle)
        await manager.stop()
      }
      const handle = { stop }
      running.add(handle)
      await manager.ready
      const view = await vi.waitFor(() => {
        if (viewRef.view === undefined) throw new Error('the operator has not begun')
        return viewRef.view
      }, PATIENCE)
      return { view, registry, lines, stop }
    },
    async process({ natsUrl = nats.url, server, command, deviceLabels = ['*'], signingKeys } = {}) {
      const started = await startMuster(
        [
          'manager',
          '--controllers=fleet',
          `--namespace=${namespace}`,
          `--kubeconfig=${await account.kubeconfig(server)}`,
          `--nats-url=${natsUrl}`,
          // The last release knows no such flag: it took every label.
          ...(command === undefined ? [`--device-labels=${deviceLabels.join(',')}`] : []),
          ...(signingKeys === undefined ? [] : [`--fleet-signing-keys=${signingKeys}`]),
          '--metrics-bind-address=0',
          '--health-probe-bind-address=0',
        ],
        { POD_NAMESPACE: namespace },
        command,
      )
      running.add(started)
      return started
    },
    async device(short, labels = {}, inventory = { arch: 'arm64' }) {
      const name = `${short}-${namespace.slice(-8)}`
      const machine: Machine = {
        name,
        beat: async () => {
          await put('fleet-heartbeat', name, heartbeatCodec.encode({ boot: 'b', at: new Date().toISOString() }, 0))
        },
        silence: () => bucket('fleet-heartbeat', (kv) => kv.delete(name)),
        tell: async (more) => {
          const told = { world: namespace, ...more }
          await put('fleet-info', name, infoCodec.encode({ labels: told, inventory, agentVersion: '1' }, 0))
        },
        wanted: () =>
          bucket('fleet-desired', async (kv) => {
            const wanted: Record<string, number> = {}
            for await (const key of await kv.keys(`${name}.>`)) {
              const entry = await kv.get(key)
              if (entry?.operation === 'PUT')
                wanted[key.split('.')[2] ?? ''] = desiredCodec.decode(entry.value).payload.revision
            }
            return wanted
          }),
        say: async (deployment, state = {}) => {
          const key = `${name}.${namespace}.${deployment}`
          await bucket('fleet-state', async (states) => {
            const given = await bucket('fleet-desired', (kv) => kv.get(key))
            if (given?.operation !== 'PUT') throw new Error(`${key} was given nothing`)
            const { payload, generation } = desiredCodec.decode(given.value)
            const answer = { phase: 'Running', uid: payload.owner.uid, revision: payload.revision } as const
            await states.put(key, stateCodec.encode({ ...answer, at: new Date().toISOString(), ...state }, generation))
          })
        },
      }
      await machine.tell(labels)
      await machine.beat()
      return machine
    },
    deploy: (name, spec = {}) =>
      kube.create(Deployment, {
        metadata: { name, namespace },
        spec: {
          targetSelector: { matchLabels: { world: namespace } },
          score: scoreOf(name),
          ...spec,
        } as DeploymentSpec,
      }),
    change: (name, body) => kube.patch(Deployment, { name, namespace, type: 'merge', body }),
    deployment: (name) => kube.get(Deployment, name, namespace),
    until: (what) => vi.waitFor(what, PATIENCE),
    async [Symbol.asyncDispose]() {
      await Promise.all([...running].map((one) => one.stop()))
      for await (const { metadata } of kube.list(Device, { labelSelector: `world=${namespace}` }))
        await kube.delete(Device, metadata.name)
      for await (const { metadata } of kube.list(Deployment, { namespace }))
        await kube.patch(Deployment, {
          name: metadata.name,
          namespace,
          type: 'merge',
          body: { metadata: { finalizers: null } },
        })
      await plane.rest('DELETE', `/api/v1/namespaces/${namespace}`)
      await transport.close()
      await nats.stop()
    },
  }
  return world
}
