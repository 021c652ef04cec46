/** What the benches of the API ask, and what was promised of it. */
import type { Figure } from '../report/row.ts'
import { type Fleet, REGIONS, report, specOf } from './fleet.ts'
import type { Call, Measured } from './load.ts'

/**
 * The Go peer is not to be had from the Go module proxy. These were measured elsewhere, on 20,000 clusters on PostgreSQL at 8
 * in flight (anchors: hyperfleet-api 4); a mark in the table says so.
 */
export const PEER = 'hyperfleet-api (Go), measured elsewhere'

/** CPU of the peer and its PostgreSQL together was measured beside ours on one machine, once, and can't be measured again. */
export const PEER_CPU = 'hyperfleet-api (Go), measured before, beside ours'

export interface Operation {
  readonly name: string
  /** Requests a second of the peer, where that was measured. */
  readonly peer?: number
  /** Ours, as a multiple of the peer's. */
  readonly target?: number
  /** Milliseconds of the API and PostgreSQL together: the peer's, and the most that is aimed at, of PostgreSQL alone as well where that is. */
  readonly cpu: { readonly peer: number; readonly atMost: number; readonly ofDatabase?: number }
  readonly call: (n: number, fleet: Fleet) => Call
}

const search = (text: string): string => `search=${encodeURIComponent(text)}`

const READY_AND_OLD = `status.conditions.Reconciled='True' and status.conditions.Reconciled.last_updated_time<'2100-01-01T00:00:00Z'`

export const OPERATIONS: readonly Operation[] = [
  {
    name: 'status report',
    peer: 427,
    target: 2,
    cpu: { peer: 11.4, atMost: 2.0 },
    call: (n, fleet) => ({ method: 'PUT', path: `/clusters/${fleet.at(n * 7).id}/statuses`, body: report('dns', n) }),
  },
  {
    name: 'list of 20',
    peer: 110,
    target: 5,
    cpu: { peer: 40, atMost: 1 },
    call: () => ({ method: 'GET', path: '/clusters' }),
  },
  {
    name: 'list of 100',
    peer: 84,
    target: 5,
    cpu: { peer: 54.9, atMost: 2 },
    call: () => ({ method: 'GET', path: '/clusters?size=100' }),
  },
  {
    name: 'label search, 100 of a region',
    peer: 17,
    target: 20,
    cpu: { peer: 314, atMost: 3, ofDatabase: 1 },
    call: (n) => ({ method: 'GET', path: `/clusters?size=100&${search(`labels.region='region-${n % REGIONS}'`)}` }),
  },
  {
    name: 'condition search, those of a region that are not ready',
    peer: 17,
    target: 20,
    cpu: { peer: 324, atMost: 3, ofDatabase: 1 },
    call: (n) => ({
      method: 'GET',
      path: `/clusters?size=100&${search(`status.conditions.Reconciled='False' and labels.region='region-${n % REGIONS}'`)}`,
    }),
  },
  {
    name: 'condition search, 100 that are ready and old',
    cpu: { peer: 366, atMost: 3, ofDatabase: 1 },
    call: () => ({ method: 'GET', path: `/clusters?size=100&${search(READY_AND_OLD)}` }),
  },
  {
    name: 'get',
    peer: 1_795,
    target: 1,
    cpu: { peer: 2.35, atMost: 0.35 },
    call: (n, fleet) => ({ method: 'GET', path: `/clusters/${fleet.at(n * 13).id}` }),
  },
  {
    name: 'create',
    peer: 1_022,
    target: 1,
    cpu: { peer: 4.2, atMost: 2.5 },
    call: (_n, fleet) => ({ method: 'POST', path: '/clusters', body: fleet.newDraft() }),
  },
  {
    name: 'patch',
    peer: 604,
    target: 1,
    cpu: { peer: 5.6, atMost: 3.3 },
    call: (n, fleet) => ({ method: 'PATCH', path: `/clusters/${fleet.at(n * 11).id}`, body: { spec: specOf(n + 1) } }),
  },
]

/** Throughput first, as given; then what a request takes. CPU of a database is only there when it has processes of its own. @param ofDatabase the most of it that is aimed at */
export const figuresOf = (
  name: string,
  measured: Measured,
  rate: Partial<Figure> = {},
  ofDatabase?: number,
): Figure[] => [
  { name, unit: 'requests/s', value: measured.rate, ...rate },
  { name: `${name}: p50`, unit: 'ms', value: measured.p50 },
  { name: `${name}: p99`, unit: 'ms', value: measured.p99 },
  { name: `${name}: CPU of the API`, unit: 'ms/request', value: measured.apiCpuMs },
  ...(measured.databaseCpuMs === undefined
    ? []
    : [
        {
          name: `${name}: CPU of PostgreSQL`,
          unit: 'ms/request',
          value: measured.databaseCpuMs,
          ...(ofDatabase !== undefined && { target: { of: 'value' as const, atMost: ofDatabase } }),
        },
      ]),
]
