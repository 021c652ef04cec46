/** Devices: which are online, which are not, and what runs on each. */

import type { DeviceRow, PlacementRow } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { html } from '#lib/markup/markup.ts'
import type { Condition } from '#operator/model/conditions.ts'
import { page } from '../page.ts'
import { age } from '../parts/age.ts'
import { bar } from '../parts/chart.ts'
import { conditionTable } from '../parts/conditions.ts'
import { objectPath, pathTo } from '../parts/links.ts'
import { filter, type Listing, matching, paged, pager } from '../parts/listing.ts'
import { runsElsewhere } from '../parts/missing.ts'
import {
  DEVICE_STATES,
  DEVICE_TONES,
  type DeviceState,
  deviceStateOf,
  PLACEMENT_TONES,
  placementParts,
} from '../parts/placement-phases.ts'
import { command, facts, labels, table } from '../parts/table.ts'
import { state } from '../parts/tone.ts'
import { partial } from './deployments.ts'

interface Row extends DeviceRow {
  readonly state: DeviceState
}

export const textOf = ({ name, labels: all }: DeviceRow): string =>
  `${name} ${Object.entries(all)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')}`

interface Devices {
  readonly counts: Readonly<Record<DeviceState, number>>
  readonly devices: Listing<Row>
  readonly isPartial: boolean
}

export const devices = page<Devices | { readonly devices: undefined }>({
  path: '/devices',
  menu: '/devices',

  view({ sources, query }) {
    const fleet = sources.fleet()
    if (fleet === undefined) return { devices: undefined }
    const fits = matching(query)
    const selected = query.get('state')
    const counts = { failed: 0, offline: 0, unreported: 0, pending: 0, held: 0, good: 0 }
    const rows: Row[] = []
    for (const device of fleet.devices()) {
      if (!fits(textOf(device))) continue
      const stateNow = deviceStateOf(device)
      counts[stateNow] += 1
      if (selected === null || stateNow === selected) rows.push({ ...device, state: stateNow })
    }
    rows.sort((a, b) => DEVICE_STATES.indexOf(a.state) - DEVICE_STATES.indexOf(b.state) || (a.name < b.name ? -1 : 1))
    return { counts, devices: paged(rows, query), isPartial: fleet.recovery().phase === 'Recovering' }
  },

  title: () => 'Devices',

  sections(model, { query, now }) {
    if (model.devices === undefined) return [{ id: 'devices', body: runsElsewhere('fleet') }]
    const { counts } = model
    return [
      {
        id: 'filters',
        body: filter({
          path: '/devices',
          query,
          hint: 'name or label, such as region=eu',
          choices: DEVICE_STATES.map((value) => ({ value, word: value, count: counts[value] })),
        }),
      },
      {
        id: 'devices',
        body: html`${partial(model.isPartial)}${table<Row>({
          caption: 'Devices',
          columns: [
            { name: 'Device', cell: ({ name }) => html`<a href="${pathTo('devices', name)}">${name}</a>` },
            { name: 'State', cell: (row) => state(DEVICE_TONES[row.state], row.state) },
            { name: 'Seen', isNumber: true, cell: ({ lastSeen }) => age(lastSeen, now) },
            { name: 'Agent', cell: ({ agentVersion }) => agentVersion },
            { name: 'Deployments', cell: (row) => bar(placementParts(row.deployments)) },
            { name: 'Labels', isWide: true, cell: (row) => labels(row.labels) },
          ],
          rows: model.devices.rows,
          key: ({ name }) => name,
          empty: query.size > 0 ? 'No device is like that.' : 'There is no device yet.',
        })}${pager('/devices', query, model.devices)}`,
      },
    ]
  },
})

interface DeviceDetail extends Row {
  readonly inventory: Readonly<Record<string, string>>
  readonly placements: readonly PlacementRow[]
  /** None when Devices are not in a cache of this process. */
  readonly conditions: readonly Condition[]
  readonly kubectl: string
}

export const device = page<DeviceDetail>({
  path: '/devices/:name',
  menu: '/devices',

  view({ params: { name = '' }, sources }) {
    const fleet = sources.fleet()
    const row = fleet?.devices().find((each) => each.name === name)
    if (fleet === undefined || row === undefined) return undefined
    const object = sources.objects(Device)?.get(name)
    return {
      ...row,
      state: deviceStateOf(row),
      inventory: object?.spec.inventory ?? {},
      placements: fleet.ofDevice(name),
      conditions: object?.status?.conditions ?? [],
      kubectl: `kubectl describe ${Device.plural}.${Device.group} ${name}`,
    }
  },

  title: ({ name }) => name,

  sections: (model, { now }) => [
    {
      id: 'state',
      body: html`${facts([
        ['State', state(DEVICE_TONES[model.state], model.state)],
        ['Last seen', html`${age(model.lastSeen, now)}`],
        ['Agent', model.agentVersion],
        ['Pinned', model.isPinned ? 'yes: nothing on it changes' : undefined],
        ['Labels', labels(model.labels, 64)],
        ...Object.entries(model.inventory)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, value]) => [name, value] as const),
      ])}${command(model.kubectl)}`,
    },
    {
      id: 'deployments',
      heading: 'Deployments',
      body: table<PlacementRow>({
        caption: 'Deployments on this device',
        columns: [
          {
            name: 'Deployment',
            cell: ({ deployment }) => html`<a href="${objectPath('deployments', deployment)}">${deployment}</a>`,
          },
          { name: 'State', cell: ({ phase }) => state(PLACEMENT_TONES[phase], phase) },
          { name: 'Given', isNumber: true, cell: ({ givenRevision }) => givenRevision },
          { name: 'Has', isNumber: true, cell: ({ answered }) => answered },
          { name: 'Said', isNumber: true, cell: ({ at }) => age(at, now) },
          { name: 'Message', isWide: true, cell: ({ message }) => message },
        ],
        rows: model.placements,
        key: ({ deployment }) => deployment,
        empty: 'No Deployment selects it.',
      }),
    },
    ...(model.conditions.length === 0
      ? []
      : [{ id: 'conditions', heading: 'Conditions', body: conditionTable(model.conditions, now) }]),
  ],
})
