/** A process that wants a lease and writes what becomes of it: `leading`, `stopped`, `done`. Arguments: kubeconfig, namespace, name, identity. */
import { once } from 'node:events'
import { createApi } from '#operator/client/api.ts'
import { runWithLease } from '#operator/client/lease.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { systemClock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'

const [kubeconfig = '', namespace = '', name = '', identity = ''] = process.argv.slice(2)
const log: Logger = { debug() {}, info() {}, warn: console.error, error: console.error, child: () => log }
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

const transport = await loadTransport({ kubeconfig })
const times = { leaseDuration: '3s', renewDeadline: '2s', retryPeriod: '500ms' } as const
const contender = { api: createApi(transport), namespace, name, identity, times, clock: systemClock, log }
console.log('waiting')
await runWithLease({ ...contender, signal: stop.signal }, async (leading) => {
  console.log('leading')
  await once(leading, 'abort')
  console.log('stopped')
})
await transport.close()
console.log('done')
