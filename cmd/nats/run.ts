/**
 * Beside a nats-server, in its pod:
 *
 *   Secrets, ConfigMaps ◄─► muster nats ─► <output>/{users.conf,tls.crt,tls.key} ◄─ nats-server
 *                                     └──── "read your configuration again" ────────────▲
 *
 * It keeps the certificate of the HyperFleet API as well, being the one program of the install that makes Secrets of its own.
 * It looks at all of it every few seconds, so that what was deleted or changed is put right. NATS-3, NATS-4, NATS-5, API-178.
 */
import { messageOf } from '#lib/errors/message-of.ts'
import { createLogger } from '#lib/log/logger.ts'
import { logUnhandledRejections } from '#lib/process/unhandled-rejections.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { createHealth, serveHealth } from '#operator/health.ts'
import { type Clock, systemClock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { buildInfo } from '../build-info.ts'
import { UsageError } from '../failure.ts'
import { stopOnSignals } from '../signals.ts'
import { keepApiCertificate } from './api-certificate.ts'
import type { NatsOptions } from './command.ts'
import { moveStreams, type Stores } from './move-streams.ts'
import { keepAuthorities, keepSigningKeys, keepUsers, readDeclaredDevices } from './objects.ts'
import {
  filesIn,
  keepCertificate,
  keepSystemKey,
  makeFolder,
  reload,
  type ServerFiles,
  textOf,
  write,
} from './server-files.ts'
import { buildUsersConfig, readDeviceKeys, type ServerUsers } from './users-config.ts'

/** Milliseconds between looks. */
const INTERVAL_MS = 5_000

/** Until a signal stops it. @throws UsageError, Failure, and the system's error for a folder that can't be used */
export const runNats = async (options: NatsOptions): Promise<void> => {
  const { output, kubeconfig, context, healthProbeBindAddress } = options
  const stores = storesOf(options)
  const signal = stopOnSignals()
  const log = createLogger(options).child({ component: 'nats' })
  logUnhandledRejections(log)
  const clock = systemClock
  const health = createHealth(clock)
  await using running = new AsyncDisposableStack()
  const transport = await loadTransport({ kubeconfig, context, clock, userAgent: `muster-nats/${buildInfo().version}` })
  running.defer(() => transport.close())
  const files = filesIn(output)
  await makeFolder(output)
  // With its configuration there, the server may run: it is this program that was started again.
  if (stores !== undefined && (await textOf(files.users)) === undefined) await moveStreams(stores, log)

  const keeper = new Keeper(createApi(transport, { signal }), files, { options, clock, log })
  health.check('configuration', () => (keeper.isWritten ? undefined : 'nats-server has no configuration yet'))
  if (healthProbeBindAddress !== undefined) {
    const server = await serveHealth(health, healthProbeBindAddress, '--health-probe-bind-address')
    running.defer(() => server.stop())
  }
  const heartbeat = health.heartbeat('loop', '5m')
  while (!signal.aborted) {
    await keeper.look()
    heartbeat.beat()
    await clock.sleep(INTERVAL_MS, signal)
  }
  log.info('stopped', { signal: signal.reason })
}

/** Between which streams are moved. @throws UsageError when one of the two is missing: they would stay behind without a word */
const storesOf = ({ storeDir, formerStoreDir }: NatsOptions): Stores | undefined => {
  if (storeDir !== undefined && formerStoreDir !== undefined) return { from: formerStoreDir, to: storeDir }
  if (storeDir !== undefined) throw new UsageError('--store-dir: it needs --former-store-dir')
  if (formerStoreDir !== undefined) throw new UsageError('--former-store-dir: it needs --store-dir')
  return undefined
}

interface KeeperParts {
  readonly options: Pick<NatsOptions, 'namespace' | 'apiStorage' | 'fleetStorage' | 'hosts' | 'apiHosts' | 'natsUrl'>
  readonly clock: Clock
  readonly log: Logger
}

interface ConfigInputs extends Pick<ServerUsers, 'accounts' | 'system'> {
  readonly declared: Readonly<Record<string, string>>
}

interface Config {
  /** What it was built of. */
  readonly from: string
  readonly text: string
  readonly devices: number
  readonly problems: readonly string[]
}

/** Where `reload` connects to. */
const LOOPBACK = ['127.0.0.1', 'localhost']

export class Keeper {
  readonly #api: Api
  readonly #files: ServerFiles
  readonly #parts: KeeperParts
  /** The server may run with what the files held before: also after a start of this program. */
  #isReloadDue = true
  #config: Config | undefined
  #said = new Set<string>()
  isWritten = false

  constructor(api: Api, files: ServerFiles, parts: KeeperParts) {
    this.#api = api
    this.#files = files
    this.#parts = parts
  }

  /** Never rejects: what fails is logged, and tried again at the next look. */
  async look(): Promise<void> {
    const { options, log } = this.#parts
    const problems = new Set<string>()
    try {
      for (const problem of await this.#write()) problems.add(`nats-devices: ${problem}; it can't sign in`)
      this.isWritten = true
    } catch (error) {
      problems.add(`the users of NATS can't be brought up to date, trying again: ${messageOf(error)}`)
    }
    if (this.isWritten && this.#isReloadDue) {
      try {
        await reload(options.natsUrl, this.#files)
        this.#isReloadDue = false
        log.info('nats-server has read its configuration')
      } catch (error) {
        problems.add(`nats-server was not told of its configuration yet, trying again: ${messageOf(error)}`)
      }
    }
    try {
      const exchanged = await keepSigningKeys(this.#api, options.namespace)
      if (exchanged !== undefined) log.warn(exchanged)
    } catch (error) {
      problems.add(`the keys that sign entries for devices can't be kept, trying again: ${messageOf(error)}`)
    }
    try {
      await this.#keepApiCertificate()
    } catch (error) {
      problems.add(`the certificate of the HyperFleet API can't be kept, trying again: ${messageOf(error)}`)
    }
    // The same again and again is one line.
    for (const problem of problems) if (!this.#said.has(problem)) log.warn(problem)
    this.#said = problems
  }

  async #keepApiCertificate(): Promise<void> {
    const { options, clock, log } = this.#parts
    const { apiHosts: hosts, namespace } = options
    if (hosts.length === 0) return
    if (await keepApiCertificate(this.#api, namespace, hosts, clock.now().getTime()))
      log.info('the HyperFleet API has a new certificate', { hosts })
  }

  /** @returns what is wrong with keys of devices */
  async #write(): Promise<readonly string[]> {
    const { options, clock, log } = this.#parts
    const { namespace, hosts } = options
    const now = clock.now().getTime()
    const authorities = await keepAuthorities(this.#api, namespace, now)
    const accounts = await keepUsers(this.#api, namespace)
    const system = await keepSystemKey(this.#files)
    const declared = await readDeclaredDevices(this.#api, namespace)
    if (await keepCertificate(this.#files, authorities, [...new Set([...hosts, ...LOOPBACK])], now)) {
      this.#isReloadDue = true
      log.info('NATS has a new certificate', { hosts })
    }
    const config = this.#configOf({ accounts, system, declared })
    if (await write(this.#files.users, config.text)) {
      this.#isReloadDue = true
      log.info('the users of NATS were written', { devices: config.devices })
    }
    return config.problems
  }

  /** Built again only for other inputs: that of 10,000 devices takes a second. */
  #configOf(inputs: ConfigInputs): Config {
    const from = JSON.stringify(inputs)
    if (this.#config?.from !== from) {
      const { accounts, system, declared } = inputs
      const { devices, problems } = readDeviceKeys(declared, [...Object.values(accounts), system])
      const { apiStorage, fleetStorage } = this.#parts.options
      const storage = { API: apiStorage, FLEET: fleetStorage }
      const text = buildUsersConfig({ accounts, system, devices, storage }, this.#files)
      this.#config = { from, text, devices: devices.size, problems }
    }
    return this.#config
  }
}
