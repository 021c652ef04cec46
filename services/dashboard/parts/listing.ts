/** Long lists a page at a time, filtered by what the URL says. Pure. */
import { html, type Markup } from '#lib/markup/markup.ts'
import { withQuery } from './links.ts'
import { number } from './tone.ts'

/** Rows on a page. */
export const PAGE_SIZE = 50
/** Characters of a filter that count. */
const MAX_FILTER_CHARS = 200

export interface Listing<R> {
  readonly rows: readonly R[]
  /** Rows on all pages. */
  readonly total: number
  /** From 1. */
  readonly page: number
  readonly pages: number
}

/** The page that `?page=` names; the nearest there is when there is no such one. */
export const paged = <R>(rows: readonly R[], query: URLSearchParams): Listing<R> => {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_SIZE))
  const selected = Number(query.get('page') ?? '1')
  const page = Number.isInteger(selected) ? Math.min(Math.max(1, selected), pages) : 1
  return { rows: rows.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE), total: rows.length, page, pages }
}

/** Does a text hold every word of `?q=`, in any case? */
export const matching = (query: URLSearchParams): ((text: string) => boolean) => {
  const words = (query.get('q') ?? '').slice(0, MAX_FILTER_CHARS).toLowerCase().split(/\s+/).filter(Boolean)
  return (text) => {
    const lower = text.toLowerCase()
    return words.every((word) => lower.includes(word))
  }
}

/** `51–100 of 9 812`, and the way to the pages beside. */
export const pager = (path: string, query: URLSearchParams, { rows, total, page, pages }: Listing<unknown>): Markup => {
  const first = (page - 1) * PAGE_SIZE + 1
  const range = total === 0 ? 'nothing' : `${number(first)}–${number(first + rows.length - 1)} of ${number(total)}`
  const step = (to: number, word: string) =>
    to < 1 || to > pages
      ? html`<span class="dim" aria-hidden="true">${word}</span>`
      : html`<a href="${withQuery(path, query, { page: to === 1 ? undefined : String(to) })}">${word}</a>`
  return html`<nav class="pager" aria-label="Pages of the list"><span>${range}</span>${
    pages === 1 ? undefined : [step(page - 1, 'Previous'), step(page + 1, 'Next')]
  }</nav>`
}

export interface Choice {
  /** As the URL has it. */
  readonly value: string
  readonly word: string
  readonly count: number
}

export interface FilterOptions {
  readonly path: string
  readonly query: URLSearchParams
  /** What may be typed. */
  readonly hint: string
  /** Of `?state=`. */
  readonly choices?: readonly Choice[]
}

/** The field that filters a list, and the states to choose from. */
export const filter = ({ path, query, hint, choices = [] }: FilterOptions): Markup => {
  const chosen = query.get('state') ?? ''
  const all = choices.reduce((sum, { count }) => sum + count, 0)
  const choice = ({ value, word, count }: Choice) =>
    html`<a class="choice" href="${withQuery(path, query, { state: value })}"${
      chosen === value ? html` aria-current="true"` : undefined
    }>${word} <span class="count">${number(count)}</span></a>`
  return html`<search class="filter"><form id="filter-form" action="${path}" method="get" role="search">
<label for="filter">Filter</label>
<input id="filter" name="q" type="search" value="${query.get('q') ?? ''}" placeholder="${hint}" autocomplete="off" spellcheck="false" maxlength="${MAX_FILTER_CHARS}">
${chosen === '' ? undefined : html`<input type="hidden" name="state" value="${chosen}">`}<kbd aria-hidden="true">/</kbd>
</form>${
    choices.length === 0
      ? undefined
      : html`<nav class="choices" aria-label="States">${[{ value: '', word: 'All', count: all }, ...choices].map(choice)}</nav>`
  }</search>`
}
