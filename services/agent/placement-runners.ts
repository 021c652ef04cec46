import { parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Reports } from './nats/state-reporter.ts'
import type { DesiredListener } from './nats/watch-desired.ts'
import { Tenant } from './placement-runner.ts'
import type { Ledger, Remembered } from './placement-store.ts'
import type { Runners } from './workload-runner.ts'

export interface TenantsOptions {
  readonly device: string
  readonly ledger: Ledger
  readonly runners: Runners
  readonly reports: Reports
  readonly clock: Clock
  readonly log: Logger
}

/** All Deployments of this device. */
export class Tenants {
  readonly #options: TenantsOptions
  readonly #tenants = new Map<string, Tenant>()
  #isClosing = false

  constructor(options: TenantsOptions) {
    this.#options = options
  }

  /** Goes on with what is on the disk, before NATS is asked. */
  async resume(): Promise<void> {
    for (const remembered of await this.#options.ledger.read())
      if (parsePlacementKey(remembered.key).device === this.#options.device) this.#begin(remembered)
  }

  /** Takes what the watch tells. @param onReplayed everything that there was has been told */
  listener(onReplayed: () => void): DesiredListener {
    const missing = new Set(this.#tenants.keys())
    return {
      onEntry: async (key, bytes) => {
        missing.delete(key)
        if (this.#isValid(key)) await this.#tenantOf(key).offer(bytes)
      },
      onDeleted: async (key) => {
        missing.delete(key)
        await this.#tenants.get(key)?.withdraw()
      },
      onReplayed: () => {
        onReplayed()
        for (const key of missing)
          this.#options.log.warn('a Deployment has no entry, and none was deleted: it stays', { key })
        missing.clear()
      },
    }
  }

  /** @param halt also what runs on this machine */
  async close(halt: boolean): Promise<void> {
    this.#isClosing = true
    await Promise.all([...this.#tenants.values()].map((tenant) => tenant.close(halt)))
  }

  #isValid(key: string): boolean {
    try {
      parsePlacementKey(key)
      return true
    } catch (error) {
      if (!(error instanceof MalformedEntry)) throw error
      this.#options.log.warn('an entry is skipped', { key, problem: error.message })
      return false
    }
  }

  #tenantOf(key: string): Tenant {
    return this.#tenants.get(key) ?? this.#begin({ key, accepted: undefined, isRemoving: false })
  }

  #begin(remembered: Remembered): Tenant {
    const { reports, log } = this.#options
    const tenant = new Tenant(remembered, {
      ...this.#options,
      say: (key, state, generation) => reports.say(key, state, generation),
      unsay: (key, signal) => reports.unsay(key, signal),
      onGone: (key, next) => {
        this.#tenants.delete(key)
        if (next !== undefined && !this.#isClosing)
          this.#tenantOf(key)
            .offer(next)
            .catch((error: unknown) => log.error('an entry could not be taken', { key, error }))
      },
    })
    this.#tenants.set(remembered.key, tenant)
    return tenant
  }
}
