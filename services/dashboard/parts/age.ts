/** How long ago something was. Coarse, so that a page that shows it changes no more than once a minute. Pure. */
import { html, type Markup } from '#lib/markup/markup.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `<1m`, `7m`, `3h`, `12d`; what lies ahead is `in 5m`. */
export const ageOf = (at: Date, now: Date): string => {
  const passed = now.getTime() - at.getTime()
  const span = Math.abs(passed)
  const text =
    span < MINUTE
      ? '<1m'
      : span < HOUR
        ? `${Math.floor(span / MINUTE)}m`
        : span < DAY
          ? `${Math.floor(span / HOUR)}h`
          : `${Math.floor(span / DAY)}d`
  return passed < -MINUTE ? `in ${text}` : text
}

/** The age, with the moment itself as its tooltip; a dash when it is unknown. @param at RFC 3339 */
export const age = (at: string | Date | undefined, now: Date): Markup => {
  const moment = at === undefined ? undefined : new Date(at)
  if (moment === undefined || Number.isNaN(moment.getTime())) return html`<span class="dim">–</span>`
  const iso = moment.toISOString()
  return html`<time datetime="${iso}" title="${iso}">${ageOf(moment, now)}</time>`
}
