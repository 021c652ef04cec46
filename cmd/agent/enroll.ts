/**
 * Installs the agent as a service of systemd:
 *
 *   the device's key opens NATS ─► <root>/etc/muster-agent/{nats,nats-ca,fleet-public-keys,kubeconfig}, for root alone
 *                                ─► <root>/etc/systemd/system/muster-agent.service ─► enabled, started
 *
 * AGENT-30.
 */
import { execFile } from 'node:child_process'
import type { Stats } from 'node:fs'
import { lstat, mkdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { NatsConnection } from '@nats-io/transport-node'
import { inboxOf } from '#apis/fleet.nationtech.io/kv/device-consumer.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { replaceFile } from '#lib/replace-file.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import {
  CredentialsError,
  connectAgent,
  NEEDED_CAPABILITIES,
  RefusedError,
  readAuthenticator,
} from '#services/agent/index.ts'
import { Failure, UsageError } from '../failure.ts'
import type { EnrollFlags } from './enroll-command.ts'
import { openPublicKeys } from './public-keys.ts'
import { type Argument, systemdUnit, UNIT_NAME } from './systemd-unit.ts'

const run = promisify(execFile)

const SECRETS_FOLDER = '/etc/muster-agent'
const UNIT_FOLDER = '/etc/systemd/system'
/** How long NATS has to answer. */
const NATS_TIMEOUT_MS = 30_000

/** Nothing is written before the key has opened NATS. @returns what was done, a line a step @throws UsageError, Failure */
export const enroll = async (flags: EnrollFlags): Promise<readonly string[]> => {
  const { device, root, offline } = flags
  const isThisMachine = root === '/'
  if (isThisMachine && process.getuid?.() !== 0)
    throw new Failure('a service of the machine is made by root: run it with sudo')
  await checkRoot(root)
  await checkPublicKeys(flags)
  const authenticator = await readKey(flags)
  if (!offline) await checkNats(flags, authenticator)
  const secrets = await readSecrets(flags)
  try {
    const done = []
    for (const { name, text } of secrets) done.push(await writeSecret(root, name, text))
    done.push(
      await writeUnit(
        flags,
        secrets.map(({ name }) => name),
      ),
    )
    done.push(...(await enable(root)))
    const seen = isThisMachine ? `; the fleet shows it: kubectl get fleetdev ${device}` : ''
    return [...done, `${device} is enrolled${seen}`]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof Failure || typeof code !== 'string') throw error
    throw new Failure(`--root: ${messageOf(error)}`, { cause: error })
  }
}

/** A device that takes what nothing has signed is a person's choice, not an oversight. AGENT-49. @throws UsageError */
const checkPublicKeys = async ({ fleetPublicKeys, acceptUnsigned }: EnrollFlags): Promise<void> => {
  await openPublicKeys(fleetPublicKeys)
  if (fleetPublicKeys === undefined && !acceptUnsigned)
    throw new UsageError(
      '--fleet-public-keys: give the public keys of the fleet, which its ConfigMap fleet-signing has in public.pem; where its operator signs nothing, give --accept-unsigned',
    )
  if (fleetPublicKeys !== undefined && acceptUnsigned)
    throw new UsageError('--accept-unsigned: give it or --fleet-public-keys, not both')
}

/** @throws UsageError */
const readKey = async ({ natsCredentials }: EnrollFlags) => {
  try {
    return await readAuthenticator({ creds: natsCredentials, token: undefined })
  } catch (error) {
    if (!(error instanceof CredentialsError)) throw error
    throw new UsageError(`--nats-credentials: ${error.message}`, { cause: error })
  }
}

/** @throws Failure */
const checkNats = async (
  { device, natsUrl, natsCa }: EnrollFlags,
  authenticator: Awaited<ReturnType<typeof readAuthenticator>>,
): Promise<void> => {
  using scope = new AbortScope().within(NATS_TIMEOUT_MS)
  const { signal } = scope
  try {
    const options = { url: natsUrl, ca: natsCa, device, authenticator, clock: systemClock, log: silent }
    const connection = await connectAgent(options, signal)
    try {
      await checkName(connection, device, authenticator !== undefined)
    } finally {
      await connection.close()
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    if (error instanceof RefusedError) throw new Failure(`${error.message}; nothing was installed`, { cause: error })
    if (!signal.aborted) throw error
    throw new Failure(
      `NATS does not answer within ${NATS_TIMEOUT_MS / 1_000} s: check --nats-url; nothing was installed`,
      { cause: error },
    )
  }
}

/** The flags that name files of the service. */
const SECRET_FLAGS = {
  nats: '--nats-credentials',
  'nats-ca': '--nats-ca',
  'fleet-public-keys': '--fleet-public-keys',
  kubeconfig: '--kubeconfig',
} as const

/**
 * A key opens the inbox of its own device, and no other. One that may do more, such as the operator's, would give this machine, and those who
 * steal it, what is every device's. AGENT-58.
 * @throws Failure
 */
const checkName = async (connection: NatsConnection, device: string, hasKey: boolean): Promise<void> => {
  const refusal = await refusalToListen(connection, device)
  if (refusal !== undefined)
    throw new Failure(
      `--nats-credentials: the key is not that of the device ${device}: NATS does not let it listen in that name; nothing was installed`,
      { cause: refusal },
    )
  if (hasKey && (await refusalToListen(connection, OTHER_DEVICE)) === undefined)
    throw new Failure(
      `--nats-credentials: the key may do more than one of the device ${device}: NATS lets it listen in the name of others; bring the device a key of its own, which muster fleet credentials makes; nothing was installed`,
    )
}

/** No device is called so, and none may listen in its name. */
const OTHER_DEVICE = 'muster-enroll-Another'

/** Undefined when the server lets the connection listen in the device's name. */
const refusalToListen = async (connection: NatsConnection, device: string): Promise<Error | undefined> => {
  const refusals: Error[] = []
  const listening = connection.subscribe(`${inboxOf(device)}.enroll`, {
    callback: (refusal) => {
      if (refusal !== null) refusals.push(refusal)
    },
  })
  // The server has answered the subscription by then.
  await connection.flush()
  listening.unsubscribe()
  return refusals[0]
}

/**
 * The unit starts this program by its path, so the other file system must have it. No other account may be able to have what is written
 * end up elsewhere, or to change it. @throws UsageError
 */
const checkRoot = async (root: string): Promise<void> => {
  for (const path of root === '/' ? [] : [process.execPath, process.argv[1] ?? ''])
    if ((await lookAt(join(root, path))) === undefined)
      throw new UsageError(`--root: ${root} has no ${path}: install Muster there by the same path as here`)
  for (const path of ['', 'etc', SECRETS_FOLDER, 'etc/systemd', UNIT_FOLDER])
    await checkFolder(join(root, path), { allowed: 0 })
  for (let above = dirname(await realpath(root)); above !== dirname(above); above = dirname(above))
    await checkFolder(above, { allowed: STICKY })
}

/** @param allowed a bit of the mode by which others may write there all the same @throws UsageError */
const checkFolder = async (path: string, { allowed }: { readonly allowed: number }): Promise<void> => {
  const found = await lookAt(path)
  if (found === undefined) return
  if (!found.isDirectory()) throw new UsageError(`--root: ${path} is no folder: what is written would go elsewhere`)
  const isOthers = found.uid !== 0 && found.uid !== process.getuid?.()
  if (isOthers || ((found.mode & OTHERS_WRITE) !== 0 && (found.mode & allowed) === 0))
    throw new UsageError(`--root: ${path} can be changed by other accounts: give it to root, and chmod go-w`)
}

/** Mode bits. */
const OTHERS_WRITE = 0o022
/** Only an owner renames or removes what is in it: inode(7). */
const STICKY = 0o1000

const lookAt = async (path: string): Promise<Stats | undefined> => {
  try {
    return await lstat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new UsageError(`--root: ${messageOf(error)}`, { cause: error })
  }
}

interface Secret {
  /** By which the unit has it. */
  readonly name: keyof typeof SECRET_FLAGS
  readonly text: string
}

/** @throws UsageError */
const readSecrets = async ({
  natsCredentials,
  natsCa,
  fleetPublicKeys,
  kubeconfig,
}: EnrollFlags): Promise<readonly Secret[]> => {
  const secrets: Secret[] = []
  for (const [name, path] of [
    ['nats', natsCredentials],
    ['nats-ca', natsCa],
    ['fleet-public-keys', fleetPublicKeys],
    ['kubeconfig', kubeconfig],
  ] as const) {
    if (path === undefined) continue
    try {
      secrets.push({ name, text: await readFile(path, 'utf8') })
    } catch (error) {
      throw new UsageError(`${SECRET_FLAGS[name]}: ${messageOf(error)}`, { cause: error })
    }
  }
  return secrets
}

const writeSecret = async (root: string, name: string, text: string): Promise<string> => {
  await mkdir(join(root, SECRETS_FOLDER), { recursive: true, mode: 0o700 })
  return writeWhole(join(root, SECRETS_FOLDER, name), text, 0o600)
}

const writeUnit = async (flags: EnrollFlags, secrets: readonly Secret['name'][]): Promise<string> => {
  const { device, user, programUser, natsUrl, labels, root } = flags
  const written = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  const args: readonly Argument[] = [
    `--device=${device}`,
    `--nats-url=${natsUrl}`,
    ...(written.length === 0 ? [] : [`--labels=${written.join(',')}`]),
    ...secrets.map((name) => ({ flag: SECRET_FLAGS[name], secret: name })),
    '--state-dir=/var/lib/muster-agent',
    `--program-user=${programUser}`,
  ]
  const [, script = ''] = process.argv
  const unit = systemdUnit({
    device,
    user,
    capabilities: programUser === 'self' ? undefined : NEEDED_CAPABILITIES,
    program: [process.execPath, ...process.execArgv, script],
    args,
    secrets: Object.fromEntries(secrets.map((name) => [name, join(SECRETS_FOLDER, name)])),
  })
  await mkdir(join(root, UNIT_FOLDER), { recursive: true })
  return writeWhole(join(root, UNIT_FOLDER, UNIT_NAME), unit, 0o644)
}

/** @returns what was done */
const writeWhole = async (path: string, text: string, mode: number): Promise<string> => {
  await replaceFile(path, text, mode)
  return `${path}: written`
}

/** @throws Failure */
const enable = async (root: string): Promise<readonly string[]> => {
  const steps =
    root === '/'
      ? [['daemon-reload'], ['enable', UNIT_NAME], ['restart', UNIT_NAME]]
      : [[`--root=${root}`, 'enable', UNIT_NAME]]
  for (const args of steps) {
    try {
      await run('systemctl', args)
    } catch (error) {
      const { stderr = '', code } = error as { readonly stderr?: string; readonly code?: unknown }
      const why = code === 'ENOENT' ? 'it is not installed: the agent is made a service of systemd' : stderr.trim()
      throw new Failure(`systemctl ${args.join(' ')}: ${why || messageOf(error)}`, { cause: error })
    }
  }
  return steps.map((args) => `systemctl ${args.join(' ')}: done`)
}
