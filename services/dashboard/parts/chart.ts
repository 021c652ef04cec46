/** Small charts, drawn on the server: SVG whose colours are classes, with a text that says the same. */
import { html, type Markup } from '#lib/markup/markup.ts'
import { number, state, type Tone } from './tone.ts'

export interface Part {
  readonly tone: Tone
  readonly word: string
  readonly count: number
}

const WIDTH = 240
const HEIGHT = 8
/** However few, they are seen. */
const MIN_WIDTH = 3

/** How wide each part is drawn: in proportion, but seen, and together the whole width. Pure. */
export const widths = (counts: readonly number[], width = WIDTH): readonly number[] => {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return counts.map(() => 0)
  const small = counts.filter((count) => count > 0 && (count / total) * width < MIN_WIDTH)
  const rest = width - small.length * MIN_WIDTH
  const restTotal = total - small.reduce((sum, count) => sum + count, 0)
  return counts.map((count) => {
    if (count === 0) return 0
    return (count / total) * width < MIN_WIDTH ? MIN_WIDTH : (count / restTotal) * rest
  })
}

/** One bar, its parts side by side; the empty bar when there is nothing to count. */
export const bar = (parts: readonly Part[]): Markup => {
  const label = parts.filter(({ count }) => count > 0)
  const text = label.length === 0 ? 'none' : label.map(({ count, word }) => `${count} ${word}`).join(', ')
  const sizes = widths(label.map(({ count }) => count))
  let x = 0
  const drawn = label.map(({ tone }, at) => {
    const size = sizes[at] ?? 0
    const rect = html`<rect class="${tone}" x="${x.toFixed(2)}" width="${size.toFixed(2)}" height="${HEIGHT}"></rect>`
    x += size
    return rect
  })
  return html`<svg class="bar" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${text}"><title>${text}</title><rect class="track" width="${WIDTH}" height="${HEIGHT}"></rect>${drawn}</svg>`
}

/** A bar with what its parts are, for pages with room. */
export const legended = (parts: readonly Part[]): Markup =>
  html`${bar(parts)}<ul class="legend" aria-hidden="true">${parts
    .filter(({ count }) => count > 0)
    .map(({ tone, word, count }) => html`<li>${state(tone, word)} ${number(count)}</li>`)}</ul>`

export interface Cell {
  readonly tone: Tone
  readonly word: string
  readonly size: number
}

/** The batches of a rollout in their order: what is done, what has its turn, what waits. */
export const strip = (cells: readonly Cell[]): Markup => {
  const text = cells.map(({ size, word }, at) => `batch ${at + 1}: ${size} devices, ${word}`).join('; ')
  const gap = 2
  const sizes = widths(
    cells.map(({ size }) => Math.max(1, size)),
    WIDTH - gap * Math.max(0, cells.length - 1),
  )
  let x = 0
  const drawn = cells.map(({ tone }, at) => {
    const size = sizes[at] ?? 0
    const rect = html`<rect class="${tone}" x="${x.toFixed(2)}" width="${size.toFixed(2)}" height="${HEIGHT}"></rect>`
    x += size + gap
    return rect
  })
  return html`<svg class="strip" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${text}"><title>${text}</title>${drawn}</svg>`
}
