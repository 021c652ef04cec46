/**
 * The recovery banner: while the fleet operator rebuilds what it knows, or has lost a source, every page says so, by source. It asks
 * again every two seconds, and only then: once all is Converged the answer is empty, the banner is gone and so is its timer.
 * FLEET-56.
 */

import type { FleetView, Recovery, Source, SyncState } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { html, type Markup } from '#lib/markup/markup.ts'
import { age } from './parts/age.ts'
import { number, state } from './parts/tone.ts'

export const BANNER_PATH = '/recovery'

/** The banner's JSON twin; undefined without a fleet operator. */
export const readRecovery = (fleet: FleetView | undefined): Recovery | undefined => fleet?.recovery()

export const isShown = (recovery: Recovery | undefined): boolean =>
  recovery !== undefined && recovery.phase !== 'Converged'

const SOURCES: Readonly<Record<Source, string>> = { deployments: 'Deployments', devices: 'Devices', states: 'States' }

const HEADLINES: Readonly<Record<Exclude<SyncState['phase'], 'Converged'>, readonly [string, string]>> = {
  Recovering: ['Rebuilding', 'What is shown of the fleet is partial until all three sources are read.'],
  Degraded: ['Degraded', 'What is shown of the fleet is of the moment before a source was lost.'],
}

/** What goes into the element `#recovery`: nothing once all is Converged. */
export const renderBanner = (recovery: Recovery | undefined, now: Date): Markup | undefined => {
  if (recovery === undefined || recovery.phase === 'Converged') return undefined
  const [headline, meaning] = HEADLINES[recovery.phase]
  const sources = (Object.keys(SOURCES) as Source[]).map(
    (source) =>
      html`<li><span class="source">${SOURCES[source]}</span> ${renderProgress(recovery.sources[source], now)}</li>`,
  )
  return html`<div class="recovery" data-phase="${recovery.phase}" hx-get="${BANNER_PATH}" hx-trigger="every 2s" hx-target="#recovery" hx-swap="innerMorph">
<p><strong>${headline}</strong> <span class="meaning">${meaning}</span></p>
<ul>${sources}</ul></div>`
}

const renderProgress = (sync: SyncState, now: Date): Markup => {
  switch (sync.phase) {
    case 'Converged':
      return state('good', 'ready')
    case 'Degraded':
      return html`${state('bad', 'lost')} ${age(sync.since, now)} ago: ${sync.problem}`
    case 'Recovering': {
      const { replayed, total, problem, cause } = sync
      const read =
        total === undefined
          ? replayed === 0
            ? 'rebuilding'
            : `${number(replayed)} replayed`
          : `${number(replayed)}/${number(total)} replayed`
      const reasons = [cause, problem].filter((reason) => reason !== undefined).join('; ')
      return html`${state(problem === undefined ? 'busy' : 'warn', read)}${reasons === '' ? undefined : `: ${reasons}`}`
    }
  }
}
