/** What the benches of the API ask, and what was promised of it. */
import type { Figure } from '../report/row.ts'
import { type Fleet, REGIONS, report, specOf } from './fleet.ts'
import type { Call, Measured } from './load.ts'

/**
 * The Go peer is not to be had from the Go module proxy. These were measured elsewhere, on 20,000 clusters on PostgreSQL at 8
 * in flight (anchors: hyperfleet-api 4); a mark in the table says so.
 */
export const PEER = 'hyperfleet-api (Go), measured elsewhere'

export interface Operation {
  readonly name: string
  /** Requests a second of the peer. */
  readonly peer: number
  /** Ours, as a multiple of the peer's. */
  readonly target: number
  readonly call: (n: number, fleet: Fleet) => Call
}

const search = (text: string): string => `search=${encodeURIComponent(text)}`

export const OPERATIONS: readonly Operation[] = [
  {
    name: 'status report',
    peer: 427,
    target: 2,
    call: (n, fleet) => ({ method: 'PUT', path: `/clusters/${fleet.at(n * 7).id}/statuses`, body: report('dns', n) }),
  },
  { name: 'list of 20', peer: 110, target: 5, call: () => ({ method: 'GET', path: '/clusters' }) },
  { name: 'list of 100', peer: 84, target: 5, call: () => ({ method: 'GET', path: '/clusters?size=100' }) },
  {
    name: 'label search, 100 of a region',
    peer: 17,
    target: 20,
    call: (n) => ({ method: 'GET', path: `/clusters?size=100&${search(`labels.region='region-${n % REGIONS}'`)}` }),
  },
  {
    name: 'condition search, 100 of those not ready',
    peer: 17,
    target: 20,
    call: () => ({ method: 'GET', path: `/clusters?size=100&${search("status.conditions.Reconciled='False'")}` }),
  },
  {
    name: 'get',
    peer: 1_795,
    target: 1,
    call: (n, fleet) => ({ method: 'GET', path: `/clusters/${fleet.at(n * 13).id}` }),
  },
  {
    name: 'create',
    peer: 1_022,
    target: 1,
    call: (_n, fleet) => ({ method: 'POST', path: '/clusters', body: fleet.newDraft() }),
  },
  {
    name: 'patch',
    peer: 604,
    target: 1,
    call: (n, fleet) => ({ method: 'PATCH', path: `/clusters/${fleet.at(n * 11).id}`, body: { spec: specOf(n + 1) } }),
  },
]

/** Throughput first, as given; then what a request takes. CPU of a database is only there when it has processes of its own. */
export const figuresOf = (name: string, measured: Measured, rate: Partial<Figure> = {}): Figure[] => [
  { name, unit: 'requests/s', value: measured.rate, ...rate },
  { name: `${name}: p50`, unit: 'ms', value: measured.p50 },
  { name: `${name}: p99`, unit: 'ms', value: measured.p99 },
  { name: `${name}: CPU of the API`, unit: 'ms/request', value: measured.apiCpuMs },
  ...(measured.databaseCpuMs === undefined
    ? []
    : [{ name: `${name}: CPU of PostgreSQL`, unit: 'ms/request', value: measured.databaseCpuMs }]),
]
