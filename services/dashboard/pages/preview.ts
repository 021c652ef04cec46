/** Selector preview: which devices a Deployment with these labels would match, before one is written. */

import { html } from '#lib/markup/markup.ts'
import { matches, type Selector, SelectorError } from '#operator/model/selector.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { page } from '../page.ts'
import { pathTo } from '../parts/links.ts'
import { type Listing, paged, pager } from '../parts/listing.ts'
import { runsElsewhere } from '../parts/missing.ts'
import { DEVICE_TONES, type DeviceState, deviceStateOf } from '../parts/placement-phases.ts'
import { labels, table } from '../parts/table.ts'
import { number, state } from '../parts/tone.ts'

interface Row {
  readonly name: string
  readonly state: DeviceState
  readonly labels: Readonly<Record<string, string>>
}

interface Preview {
  readonly selector: string
  /** Why it can't be read; undefined when it can. */
  readonly problem: string | undefined
  /** Of how many. */
  readonly all: number
  readonly devices: Listing<Row>
}

/** Characters of a selector. */
const MAX_SELECTOR_CHARS = 2_000

export const preview = page<Preview | { readonly devices: undefined }>({
  path: '/preview',
  menu: '/preview',

  view({ sources, query }) {
    const fleet = sources.fleet()
    if (fleet === undefined) return { devices: undefined }
    const selector = (query.get('selector') ?? '').slice(0, MAX_SELECTOR_CHARS)
    const devices = fleet.devices()
    const found = read(selector)
    const rows = devices
      .filter((device) => 'selector' in found && matches(found.selector, device.labels))
      .map((device): Row => ({ name: device.name, state: deviceStateOf(device), labels: device.labels }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    return {
      selector,
      problem: 'problem' in found ? found.problem : undefined,
      all: devices.length,
      devices: paged(rows, query),
    }
  },

  title: () => 'Selector preview',

  sections(model, { query }) {
    if (model.devices === undefined) return [{ id: 'devices', body: runsElsewhere('fleet') }]
    const { selector, problem, all, devices } = model
    const share = all === 0 ? 0 : Math.round((devices.total / all) * 100)
    return [
      {
        id: 'selector',
        body: html`<form id="filter-form" class="selector" action="/preview" method="get">
<label for="filter">Labels, as <code>kubectl -l</code> takes them</label>
<input id="filter" name="selector" value="${selector}" placeholder="region=eu,tier in (edge,store),!canary" autocomplete="off" spellcheck="false" maxlength="${MAX_SELECTOR_CHARS}"${problem === undefined ? undefined : html` aria-invalid="true" aria-describedby="problem"`}>
<button>Show</button></form>
${problem === undefined ? undefined : html`<p id="problem" class="problem">${problem}</p>`}`,
      },
      {
        id: 'devices',
        body: html`<p class="matched"><strong>${number(devices.total)}</strong> of ${number(all)} devices match${all === 0 ? undefined : html` <span class="dim">(${share} %)</span>`}</p>
${table<Row>({
  caption: 'Devices that match',
  columns: [
    { name: 'Device', cell: ({ name }) => html`<a href="${pathTo('devices', name)}">${name}</a>` },
    { name: 'State', cell: (row) => state(DEVICE_TONES[row.state], row.state) },
    { name: 'Labels', isWide: true, cell: (row) => labels(row.labels, 8) },
  ],
  rows: devices.rows,
  key: ({ name }) => name,
  empty: 'None: a Deployment with this selector would run nowhere.',
})}${pager('/preview', query, devices)}`,
      },
    ]
  },
})

const read = (text: string): { readonly selector: Selector } | { readonly problem: string } => {
  try {
    return { selector: parseSelector(text) }
  } catch (error) {
    if (error instanceof SelectorError) return { problem: error.message }
    throw error
  }
}
