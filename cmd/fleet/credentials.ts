/**
 * Keys of devices, and what nats-server must know of them:
 *
 *   <output>/nats-users.conf            for nats-server; made anew from the public keys each time
 *   <output>/nats-devices.yaml          the same devices, as the ConfigMap that muster nats reads
 *   <output>/operator.nk                for `muster manager`
 *   <output>/devices/<device>.nk        secret: for the device alone, then to be removed here
 *   <output>/devices/<device>.pub       public: keeps the device in nats-users.conf; removing it locks the device out
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createUser } from '@nats-io/nkeys'
import { dump } from 'js-yaml'
import { buildServerConfig } from '#services/agent/nats/server-config.ts'
import { deviceName } from '../agent/values.ts'
import { Failure, UsageError } from '../failure.ts'
import { readInput } from '../input.ts'

const PUBLIC = '.pub'

/** Names in a file, one a line; lines that are empty or begin with # are none. @param file `-` is standard input @throws UsageError */
export const readDeviceNames = async (file: string): Promise<readonly string[]> => {
  const lines = (await readInput('--device-names', file)).split('\n').map((line) => line.trim())
  return lines.flatMap((line, at) => {
    if (line === '' || line.startsWith('#')) return []
    try {
      return [deviceName(line)]
    } catch (error) {
      throw new UsageError(`--device-names: line ${at + 1} of ${file}: ${(error as Error).message}`, { cause: error })
    }
  })
}

/** Keys that are there stay. @returns what was done, a line a file @throws Failure for files that can't be read or written */
export const writeCredentials = async (devices: readonly string[], output: string): Promise<readonly string[]> => {
  const folder = join(output, 'devices')
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const made = [await makeKey(join(output, 'operator'))]
    for (const device of new Set(devices)) made.push(await makeKey(join(folder, device)))
    const config = join(output, 'nats-users.conf')
    const users = await readUsers(output, folder)
    const isWithoutAccounts = await hasNoAccounts(config)
    await writeFile(config, buildServerConfig(users), { mode: 0o600 })
    const declaration = join(output, 'nats-devices.yaml')
    await writeFile(declaration, declarationOf(users.devices), { mode: 0o644 })
    return [
      ...made,
      `${declaration}: written; apply it beside the NATS server that Muster delivers`,
      isWithoutAccounts
        ? `${config}: written; it has accounts, which that of an earlier release had not: stop the server that includes it, rename jetstream/$G of its store to jetstream/FLEET, and start it`
        : `${config}: written; include it in the configuration of another nats-server, and reload that`,
    ]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    throw new Failure(`--output: ${(error as Error).message}`, { cause: error })
  }
}

/** Written by an earlier release. A server that takes accounts in by a reload serves their devices no more until it starts anew. NATS-10. */
const hasNoAccounts = async (config: string): Promise<boolean> => {
  try {
    return /^authorization \{/m.test(await readFile(config, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Public keys alone: it may be committed. NATS-2. */
const declarationOf = (devices: ReadonlyMap<string, string>): string =>
  dump({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'nats-devices', namespace: 'hyperfleet-system' },
    data: Object.fromEntries([...devices].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  })

const makeKey = async (path: string): Promise<string> => {
  if ((await readKey(path)) !== undefined) return `${path}.nk: kept, the key is there already`
  const pair = createUser()
  // The secret comes first: a public key without one would lock a device out unseen.
  await writeFile(`${path}.nk`, `${new TextDecoder().decode(pair.getSeed())}\n`, { mode: 0o600 })
  await writeFile(`${path}${PUBLIC}`, `${pair.getPublicKey()}\n`, { mode: 0o644 })
  return `${path}.nk: made`
}

/** The public key; undefined when there is none. @throws Failure when the file holds something else */
const readKey = async (path: string): Promise<string | undefined> => {
  try {
    const key = (await readFile(`${path}${PUBLIC}`, 'utf8')).trim()
    if (/^U[A-Z2-7]{55}$/.test(key)) return key
    throw new Failure(`${path}${PUBLIC} holds no public key of a NATS user: remove it, and a new one is made`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const readUsers = async (output: string, folder: string) => {
  const files = (await readdir(folder)).filter((file) => file.endsWith(PUBLIC))
  const devices = new Map<string, string>()
  for (const file of files) {
    const device = deviceName(file.slice(0, -PUBLIC.length))
    devices.set(device, (await readKey(join(folder, device))) ?? '')
  }
  return { operator: (await readKey(join(output, 'operator'))) ?? '', devices }
}
