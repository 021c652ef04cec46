/** How good or bad something is, told by colour and by word: never by colour alone. */
import { html, type Markup } from '#lib/markup/markup.ts'

export const TONES = ['good', 'busy', 'warn', 'bad', 'held', 'dim'] as const
export type Tone = (typeof TONES)[number]

/** A word with a coloured sign before it. */
export const state = (tone: Tone, word: string): Markup =>
  html`<span class="state ${tone}"><span class="sign" aria-hidden="true"></span>${word}</span>`

/** A number that counts something bad: quiet while there is none. */
export const alarm = (count: number | undefined, tone: Tone = 'bad'): Markup =>
  count === undefined || count === 0
    ? html`<span class="dim">${count ?? '–'}</span>`
    : html`<span class="${tone} strong">${number(count)}</span>`

/** With thin spaces between thousands. */
export const number = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, '\u2009')
