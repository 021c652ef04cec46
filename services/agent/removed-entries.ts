/**
 * What a device had of Deployments that it removed: nothing older than that is run again, though it is signed. AGENT-50.
 *
 *   <state>/removed/<device>.<namespace>.<deployment>.json
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isCount } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { replaceFile } from '#lib/replace-file.ts'
import type { AcceptedEntry, RemovedEntry } from './evaluate-entry.ts'
import { readIfThere } from './placement-store.ts'

export interface RemovedEntries {
  /** Undefined when the device never had one of the key, or what is noted of it is spoilt. */
  read(key: string): Promise<RemovedEntry | undefined>
  note(key: string, accepted: AcceptedEntry): Promise<void>
}

/** Of a device that takes what nothing has signed: what opens NATS needs no old entries there. */
export const NO_REMOVED_ENTRIES: RemovedEntries = {
  read: async () => undefined,
  note: async () => {},
}

/** @param state the folder of the agent */
export const removedEntriesIn = (state: string): RemovedEntries => {
  const folder = join(state, 'removed')
  const pathOf = (key: string): string => join(folder, `${key}.json`)
  return {
    async read(key) {
      return parse(await readIfThere(pathOf(key)))
    },
    async note(key, { entry: { generation, payload } }) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { owner, revision, filled } = payload
      await replaceFile(pathOf(key), JSON.stringify({ owner, revision, filled, generation } satisfies RemovedNote))
    },
  }
}

/** As JSON takes it: without what is undefined. */
type RemovedNote = Omit<RemovedEntry, 'filled'> & { readonly filled: RemovedEntry['filled'] | undefined }

const parse = (bytes: Buffer | undefined): RemovedEntry | undefined => {
  try {
    const found = JSON.parse(bytes?.toString() ?? 'null') as RemovedEntry | null
    const isWhole = typeof found?.owner?.uid === 'string' && isCount(found.revision) && isCount(found.generation)
    return isWhole && !Number.isNaN(Date.parse(found.owner.created)) ? found : undefined
  } catch {
    return undefined
  }
}
