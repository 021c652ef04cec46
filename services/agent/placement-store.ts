/**
 * What the device was last told, on its disk: it runs on without NATS, and a killed agent knows at its next start what is its
 * own. A folder a Deployment:
 *
 *   <state>/<device>.<namespace>.<deployment>/
 *     desired.json    the last entry that could be run, as it was written
 *     signature       of that entry, as the bucket had it: it tells whether the entry is the fleet operator's. AGENT-51
 *     position.json   where in the bucket its last entry stood: deletions that are older count for nothing. AGENT-26
 *     removing        its key was deleted, and not everything is gone yet
 *     hold            the device takes no other revision now: see `hold-file.ts`
 *     …               what its runner remembers
 *   <state>/removed     see `removed-entries.ts`
 */

import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { replaceFile } from '#lib/replace-file.ts'
import type { Logger } from '#operator/model/log.ts'
import type { StorePosition } from './evaluate-deletion.ts'
import type { AcceptedEntry } from './evaluate-entry.ts'
import type { WrittenEntry } from './nats/watch-desired.ts'

/** What a folder says. */
export interface StoredPlacement {
  readonly key: string
  readonly accepted: AcceptedEntry | undefined
  /** Of the accepted entry; empty when it has none, or that was not recorded. */
  readonly signature: string
  /** Of the entry that was told last; undefined when that was not recorded. */
  readonly position: StorePosition | undefined
  readonly isRemoving: boolean
}

export interface PlacementStore {
  folderOf(key: string): string
  readAll(): Promise<readonly StoredPlacement[]>
  storeAccepted(key: string, entry: WrittenEntry): Promise<void>
  /** Of the accepted entry. */
  storeSignature(key: string, signature: string): Promise<void>
  /** Of a placement that has an accepted entry. */
  storePosition(key: string, position: StorePosition): Promise<void>
  markRemoving(key: string): Promise<void>
  delete(key: string): Promise<void>
}

/** @param folder Made when it is not there. @throws the system's error */
export const openPlacementStore = async (folder: string, log: Logger): Promise<PlacementStore> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const folderOf = (key: string): string => join(folder, key)

  const readPlacement = async (key: string): Promise<StoredPlacement | undefined> => {
    const isRemoving = (await readIfThere(join(folderOf(key), 'removing'))) !== undefined
    const bytes = await readIfThere(join(folderOf(key), 'desired.json'))
    if (bytes === undefined)
      return isRemoving ? { key, accepted: undefined, signature: '', position: undefined, isRemoving } : undefined
    const signature = (await readIfThere(join(folderOf(key), 'signature')))?.toString() ?? ''
    const position = parsePosition(await readIfThere(join(folderOf(key), 'position.json')))
    try {
      return { key, accepted: { bytes, entry: desiredCodec.decode(bytes) }, signature, position, isRemoving }
    } catch (error) {
      log.error('what was remembered of a Deployment is spoilt: it waits for its entry in fleet-desired', {
        key,
        error,
      })
      return { key, accepted: undefined, signature: '', position, isRemoving }
    }
  }

  const storePosition = (key: string, position: StorePosition): Promise<void> =>
    replaceFile(join(folderOf(key), 'position.json'), JSON.stringify(position))

  const storeSignature = (key: string, signature: string): Promise<void> =>
    replaceFile(join(folderOf(key), 'signature'), signature)

  return {
    folderOf,
    async readAll() {
      const names = (await readdir(folder, { withFileTypes: true })).filter((item) => item.isDirectory())
      const all = await Promise.all(
        names
          .map(({ name }) => name)
          .filter(isKey)
          .map(readPlacement),
      )
      return all.filter((one) => one !== undefined)
    },
    async storeAccepted(key, { bytes, signature, position }) {
      await mkdir(folderOf(key), { recursive: true, mode: 0o700 })
      // First: deletions between an entry and a later position are older in any case.
      await storePosition(key, position)
      await replaceFile(join(folderOf(key), 'desired.json'), bytes)
      // An agent that is killed before it is told the same entry again, with its signature.
      await storeSignature(key, signature)
      await rm(join(folderOf(key), 'removing'), { force: true })
    },
    storeSignature,
    storePosition,
    async markRemoving(key) {
      await mkdir(folderOf(key), { recursive: true, mode: 0o700 })
      await replaceFile(join(folderOf(key), 'removing'), new Uint8Array())
    },
    async delete(key) {
      await rm(folderOf(key), { recursive: true, force: true })
    },
  }
}

/** Undefined for what is not there, or is spoilt. */
const parsePosition = (bytes: Buffer | undefined): StorePosition | undefined => {
  try {
    const { revision, at } = JSON.parse(bytes?.toString() ?? '{}') as Partial<StorePosition>
    return Number.isSafeInteger(revision) && Number.isSafeInteger(at)
      ? { revision: Number(revision), at: Number(at) }
      : undefined
  } catch {
    return undefined
  }
}

const isKey = (name: string): boolean => {
  try {
    parsePlacementKey(name)
    return true
  } catch {
    return false
  }
}

/** Undefined when there is no such file. */
export const readIfThere = async (path: string): Promise<Buffer | undefined> => {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
