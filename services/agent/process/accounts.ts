/**
 * An account for each placement, without a name. It is written down, so it stays the same over restarts; it is no one else's after
 * the placement is gone, because files of it may be left. AGENT-43.
 */
import { replaceFile } from '#lib/replace-file.ts'
import type { Logger } from '#operator/model/log.ts'
import { readIfThere } from '../placement-store.ts'
import { chooseUid, type UidRange } from './program-users.ts'

export interface Accounts {
  /** The account of the placement, be it since now. @throws Error when the range has no more */
  of(key: string): Promise<number>
  /** Undefined when the placement never had one. */
  known(key: string): number | undefined
}

/** @param agent Tells it from other agents of the machine. */
export const openAccounts = async (file: string, range: UidRange, agent: string, log: Logger): Promise<Accounts> => {
  const byKey = parseAccounts(await readIfThere(file), range, () =>
    log.error('the accounts of programs are spoilt: they are chosen anew', { file }),
  )
  const written = new Set(byKey.keys())
  let writing: Promise<void> = Promise.resolve()
  const write = async (): Promise<void> => {
    const all = [...byKey]
    await replaceFile(file, JSON.stringify(Object.fromEntries(all)))
    for (const [key] of all) written.add(key)
  }
  return {
    known: (key) => byKey.get(key),
    async of(key) {
      const uid = byKey.get(key) ?? chooseUid(range, `${agent}/${key}`, new Set(byKey.values()))
      if (uid === undefined)
        throw new Error(`all accounts of --program-uids=${range.first}-${range.last} are taken: give it more of them`)
      byKey.set(key, uid)
      // A write that failed holds up those alone whose account it had, and only until the next one.
      if (!written.has(key)) {
        writing = writing.catch(() => undefined).then(() => (written.has(key) ? undefined : write()))
        await writing
      }
      return uid
    },
  }
}

/** Those of the range: with another range, accounts are other ones. */
const parseAccounts = (bytes: Buffer | undefined, range: UidRange, onSpoilt: () => void): Map<string, number> => {
  try {
    const all = Object.entries(JSON.parse(bytes?.toString() ?? '{}') as Record<string, unknown>)
    return new Map(
      all.filter(
        (pair): pair is [string, number] =>
          Number.isInteger(pair[1]) && Number(pair[1]) >= range.first && Number(pair[1]) < range.last,
      ),
    )
  } catch {
    onSpoilt()
    return new Map()
  }
}
