/** The inventory in words: POOL-17. */
import type { InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { compareText } from '../model/order.ts'
import type { Inventory } from './inventory.ts'

export interface Summary {
  /** For a column: how many can be used, of how many. */
  readonly short: string
  /** For people: what can be used, what can't and why, and whether it is enough. */
  readonly sentence: string
  /** Can every entry be used, and are there enough for the size? */
  readonly isValid: boolean
}

/** Can a cluster of this pool use it, now or once its present one is gone? */
const USABLE: readonly InventoryEntry['status'][] = ['Available', 'Reserved', 'ToBeUpdated']

/** What keeps an entry from being used, in the words of the sentence. */
const WORDS: readonly (readonly [InventoryEntry['status'], string])[] = [
  ['Missing', 'missing'],
  ['Unavailable', 'in use elsewhere'],
  ['BrokenByConfiguration', 'broken'],
  ['BrokenByCloud', 'broken by cloud'],
]

/** Of those the word alone does not tell what to do. */
const REASONED: readonly InventoryEntry['status'][] = ['BrokenByConfiguration', 'BrokenByCloud']

/** A condition's message has room for so many names; all of them are in `status.inventory`. */
const MAX_NAMES = 20
/** Of the reason of one entry; the whole of it is in `status.inventory`. */
const MAX_REASON_CHARS = 256

/** @param size How many unclaimed clusters are wanted. @param claimed How many customizations claimed clusters use. */
export const summarizeEntries = (inventory: Inventory, size: number, claimed: number): Summary => {
  const listed = Object.entries(inventory).filter(([, { status }]) => status !== 'ToBeDeleted')
  const isCordoned = ({ cordoned }: InventoryEntry) => cordoned === true
  const usable = listed.filter(([, entry]) => USABLE.includes(entry.status) && !isCordoned(entry)).length
  const parts = WORDS.flatMap(([status, word]) => {
    const names = listed
      .filter(([, entry]) => entry.status === status && !isCordoned(entry))
      .map(([name, entry]) => describeEntry(name, entry))
    return names.length === 0 ? [] : [`${word}: ${joinNames(names)}`]
  })
  // A person took them out of service: that is no fault of the inventory (POOL-55).
  const out = listed.filter(([, entry]) => isCordoned(entry)).map(([name]) => name)
  const cordoned = out.length === 0 ? [] : [`cordoned: ${joinNames(out)}`]
  const short =
    usable - claimed < size ? [`too few for size ${size}${claimed === 0 ? '' : ` beside ${claimed} claimed`}`] : []
  return {
    short: `${usable}/${listed.length}`,
    sentence: [`${usable} of ${listed.length} usable`, ...parts, ...cordoned, ...short].join('; '),
    isValid: parts.length === 0 && short.length === 0,
  }
}

/** What is wrong with the customization itself needs its reason here, and so does what its clusters failed of (POOL-46). */
const describeEntry = (name: string, { status, message }: InventoryEntry): string =>
  REASONED.includes(status) && message !== undefined ? `${name} (${message.slice(0, MAX_REASON_CHARS)})` : name

const joinNames = (names: readonly string[]): string => {
  const sorted = names.toSorted(compareText)
  const rest = sorted.length - MAX_NAMES
  return `${sorted.slice(0, MAX_NAMES).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
