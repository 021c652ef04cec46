/**
 * Streams belong to an account. Releases whose server had no users kept all of them in the one that nats-server calls $G, as folders:
 *
 *   <former store>/jetstream/$G/streams/KV_fleet-desired  ─►  <store>/jetstream/FLEET/streams/KV_fleet-desired
 *
 * A stream's folder holds nothing of its account, so moving it moves the stream with its consumers. NATS-7. The store is another one than
 * the former, because a server is not healthy as long as its store has accounts that it does not know: after a rollback it would never be
 * ready. NATS-16.
 */
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { streamOf } from '#lib/nats/kv-subjects.ts'
import type { Logger } from '#operator/model/log.ts'
import type { AccountName } from './users-config.ts'

const OF_THE_FLEET: ReadonlySet<string> = new Set(Object.values(BUCKETS).map(({ name }) => streamOf(name)))

/** The account whose users work with a stream; undefined for one that is none of ours. */
export const accountOf = (stream: string): AccountName | undefined => {
  if (OF_THE_FLEET.has(stream)) return 'FLEET'
  return stream.startsWith('hyperfleet-') ? 'API' : undefined
}

/** Where a server without users has its streams, and where one with users looks for them. */
export interface Stores {
  readonly from: string
  readonly to: string
}

/** Only while no server uses the folders, on one file system. Nothing is overwritten. @throws the system's error for a folder that can't be used */
export const moveStreams = async ({ from, to }: Stores, log: Logger): Promise<void> => {
  const former = join(from, 'jetstream', '$G', 'streams')
  for (const stream of await foldersIn(former)) {
    const account = accountOf(stream)
    if (account === undefined) {
      log.warn('a stream is in the account of a server without users, which no user reaches', { stream })
      continue
    }
    const folder = join(to, 'jetstream', account, 'streams')
    if ((await foldersIn(folder)).includes(stream)) {
      log.warn('a stream is in its account already, so the one of the server without users stays where it is', {
        stream,
        account,
      })
      continue
    }
    await mkdir(folder, { recursive: true, mode: 0o750 })
    await rename(join(former, stream), join(folder, stream))
    log.info('a stream of a server without users was moved to its account', { stream, account })
  }
}

const foldersIn = async (folder: string): Promise<readonly string[]> => {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
