/** The observer's own look at the HyperFleet API: its clusters again and again, and every event by a consumer group of its own. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ChangeSight, PulseSight, RecordSight } from './sights.ts'

/** One call of the API. @throws when it does not answer, or refuses */
export type Call = <T>(method: string, path: string, body?: object) => Promise<T | undefined>

export interface HyperfleetSight {
  /** As they were when the API was last heard. */
  records(): readonly RecordSight[]
  changes(): readonly ChangeSight[]
  pulses(): readonly PulseSight[]
  /** Until the signal aborts. */
  follow(signal: AbortSignal, onChange: () => void): Promise<void>
}

const BASE = '/api/hyperfleet/v1'
const GROUP = `${BASE}/events/consumers/observer`
/** Between two looks, in milliseconds. */
const POLL_INTERVAL_MS = 300

interface Resource {
  readonly id: string
  readonly name: string
  readonly generation: number
  readonly deleted_time?: string
  readonly spec: { readonly clusterDeployment?: { readonly namespace: string; readonly name: string } }
  readonly status: { readonly phase: string }
}

interface Claimed {
  readonly receipt: string
  readonly event: { readonly data: { readonly id: string; readonly generation: number } }
}

/** Makes its consumer group, so that from now on it gets every event. */
export const watchHyperfleet = async (call: Call): Promise<HyperfleetSight> => {
  let records: readonly RecordSight[] = []
  const changes = new Map<string, ChangeSight>()
  const pulses: PulseSight[] = []
  await call('PUT', GROUP, { resourceType: 'clusters' })

  const look = async (): Promise<void> => {
    records = await readRecords(call)
    for (const { id: resource, generation } of records) {
      const key = `${resource} ${generation}`
      if (!changes.has(key)) changes.set(key, { resource, generation, at: Date.now() })
    }
  }
  const take = async (): Promise<void> => {
    const claimed = await call<{ items: readonly Claimed[] }>('POST', `${GROUP}/claims`, {
      wait: '5s',
      visibility: '10s',
      max: 50,
    })
    for (const { receipt, event } of claimed?.items ?? []) {
      const { id: resource, generation } = event.data
      pulses.push({ resource, generation })
      await call('DELETE', `${GROUP}/claims/${encodeURIComponent(receipt)}`)
    }
  }
  const again = async (work: () => Promise<void>, signal: AbortSignal, onChange: () => void): Promise<void> => {
    while (!signal.aborted) {
      // The API is killed too: it answers again when it is back.
      await work().then(onChange, () => undefined)
      await delay(POLL_INTERVAL_MS)
    }
  }
  return {
    records: () => records,
    changes: () => [...changes.values()],
    pulses: () => pulses,
    follow: async (signal, onChange) => {
      await Promise.all([again(look, signal, onChange), again(take, signal, onChange)])
    },
  }
}

/** The clusters that the API has now. @throws when it does not answer */
export const readRecords = async (call: Call): Promise<readonly RecordSight[]> => {
  const list = await call<{ items: readonly Resource[] }>('GET', `${BASE}/clusters?size=100`)
  return (list?.items ?? []).map(recordOf)
}

const recordOf = ({ id, name, generation, deleted_time, spec, status }: Resource): RecordSight => ({
  id,
  name,
  generation,
  isDeleting: deleted_time !== undefined,
  phase: status.phase,
  registeredFor: `${spec.clusterDeployment?.namespace}/${spec.clusterDeployment?.name}`,
})
