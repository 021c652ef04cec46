/** The frame of every page. Nothing in it runs inline: the content security policy allows only files of this origin. */
import { html, type Markup } from '#lib/markup/markup.ts'
import type { Asset } from './assets.ts'
import { readRecovery, renderBanner } from './banner.ts'
import type { PageRequest, RenderedPage, Section } from './page.ts'
import { MENU } from './pages/index.ts'
import { digestOf } from './section-digest.ts'

export interface Frame {
  readonly version: string
  /** By name of the file, where it is served. */
  readonly assets: Readonly<Record<Asset, string>>
  /** The viewer; undefined when viewers need not sign in. */
  readonly viewer: string | undefined
}

/** htmx: no style of its own, and error pages are not put into the page. */
const HTMX_CONFIG = JSON.stringify({ includeIndicatorCSS: false, noSwap: [204, 304, '4xx', '5xx'] })

export const sectionId = (id: string): string => `s-${id}`

export const section = ({ id, heading, body }: Section): Markup =>
  heading === undefined
    ? html`<section id="${sectionId(id)}">${body}</section>`
    : html`<section id="${sectionId(id)}" aria-labelledby="${sectionId(id)}-h"><h2 id="${sectionId(id)}-h">${heading}</h2>${body}</section>`

/** @param url Path and query of the page: its stream is there too. */
export const renderDocument = (
  frame: Frame,
  request: PageRequest,
  url: string,
  opened: RenderedPage,
  menu: string,
): Markup =>
  shell(
    frame,
    opened.title,
    html`${menuOf(request, menu)}
<main id="main" tabindex="-1" hx-sse:connect="${url}" hx-swap="none" hx-headers="${JSON.stringify({ 'Muster-Live': digestOf(opened.sections) })}">
<h1>${opened.title.replace(/^\(\d+\) /, '')}</h1>
<div id="sections">${opened.sections.map(section)}</div>
</main>
<div id="recovery" role="status">${renderBanner(readRecovery(request.sources.fleet()), request.now)}</div>`,
    html`<a href="${twinOf(url)}">JSON</a>${
      frame.viewer === undefined
        ? undefined
        : html`<form method="post" action="/sign-out"><span>${frame.viewer}</span> <button>Sign out</button></form>`
    }`,
  )

/** A page that only says something, such as why there is no other. */
export const renderNotice = (frame: Frame, title: string, body: Markup): Markup =>
  shell(frame, title, html`<main id="main" tabindex="-1"><h1>${title}</h1>${body}</main>`, html``)

/** Where the same is as JSON. */
const twinOf = (url: string): string => {
  const [path = '/', query] = url.split('?')
  return `${path === '/' ? '/index' : path}.json${query === undefined ? '' : `?${query}`}`
}

const menuOf = ({ sources }: PageRequest, current: string): Markup =>
  html`<nav class="menu" aria-label="Pages"><ul>${MENU.filter((entry) => entry.isThere(sources)).map(
    ({ path, word }) =>
      html`<li><a href="${path}"${path === current ? html` aria-current="page"` : undefined}>${word}</a></li>`,
  )}</ul></nav>`

const shell = ({ assets, version }: Frame, title: string, content: Markup, footer: Markup): Markup =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content="${HTMX_CONFIG}">
<title>${title} · Muster</title>
<link rel="icon" href="${assets['icon.svg']}">
<link rel="stylesheet" href="${assets['style.css']}">
<script src="${assets['keys.js']}" defer></script>
<script src="${assets['htmx.js']}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="brand"><a href="/">Muster</a><span class="live" title="Whether changes come by themselves"></span></header>
${content}
<footer><span>muster ${version}</span>${footer}</footer>
</body>
</html>
`
