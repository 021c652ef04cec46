/** An inventory that is kept for as long as the process runs: for dry runs, and for tests. */
import type { InventoryStorage, StoredInventory } from './resource-inventory.ts'

export const memoryStorage = (
  uid = 'inventory',
  now: () => string | undefined = () => undefined,
): InventoryStorage & { stored: StoredInventory | undefined } => {
  let version = 0
  const isCurrent = (before: StoredInventory | undefined) => before?.resourceVersion === storage.stored?.resourceVersion
  const storage: InventoryStorage & { stored: StoredInventory | undefined } = {
    stored: undefined,
    read: async () => storage.stored,
    async write(objects, before) {
      if (!isCurrent(before)) return undefined
      const recordedAt = storage.stored === undefined ? now() : storage.stored.recordedAt
      storage.stored = { uid, resourceVersion: String(++version), recordedAt, objects }
      return storage.stored
    },
    async remove(before) {
      if (!isCurrent(before)) return false
      storage.stored = undefined
      return true
    },
  }
  return storage
}
