/** Tables: hairlines, numbers to the right, the first cell names the row. On narrow screens each row becomes a card. */
import { html, type Markup } from '#lib/markup/markup.ts'

export interface Column<R> {
  readonly name: string
  readonly isNumber?: boolean
  /** Long texts: the column takes what is left of the width. */
  readonly isWide?: boolean
  cell(row: R): Markup | string | number | undefined
}

export interface TableOptions<R> {
  /** What the table holds, for those who hear the page. */
  readonly caption: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  /** Tells a row from the others, so that an update finds it again. */
  key(row: R): string
  /** Said instead of an empty table. */
  readonly empty: string
}

const classOf = ({ isNumber, isWide }: Column<never>): string => (isNumber ? 'number' : isWide ? 'wide' : 'text')

/** Ids hold no spaces; keys of objects hold none of the signs that are replaced here twice alike. */
export const rowId = (key: string): string => `row-${encodeURIComponent(key)}`

export const table = <R>({ caption, columns, rows, key, empty }: TableOptions<R>): Markup => {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`
  return html`<div class="sheet"><table><caption>${caption}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col" class="${classOf(column)}">${column.name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr id="${rowId(key(row))}">${columns.map((column, at) =>
        at === 0
          ? html`<th scope="row" class="${classOf(column)}">${column.cell(row)}</th>`
          : html`<td class="${classOf(column)}" data-name="${column.name}">${column.cell(row)}</td>`,
      )}</tr>`,
  )}</tbody></table></div>`
}

/** Names with their values, such as the fields of one object. */
export const facts = (entries: readonly (readonly [string, Markup | string | number | undefined])[]): Markup =>
  html`<dl class="facts">${entries.map(([name, value]) =>
    value === undefined ? undefined : html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`

/** A command to copy; a click selects it whole. */
export const command = (line: string): Markup => html`<code class="command">${line}</code>`

/** Labels as `key=value`. */
export const labels = (all: Readonly<Record<string, string>>, most = 4): Markup => {
  const entries = Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const rest = entries.length - most
  return html`<span class="labels">${entries
    .slice(0, most)
    .map(([key, value]) => html`<span class="label">${key}=${value}</span> `)}${
    rest > 0 ? html`<span class="dim">+${rest}</span>` : undefined
  }</span>`
}
