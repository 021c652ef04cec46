/** What is to be sent to a page that shows something older. Pure. */
import { html, type Markup } from '#lib/markup/markup.ts'
import { section, sectionId } from '../layout.ts'
import type { RenderedPage } from '../page.ts'
import { sectionDigest } from '../section-digest.ts'

/** What a page shows, by section, in their order. */
export type SectionDigests = ReadonlyMap<string, string>

export const sectionDigests = ({ sections }: RenderedPage): SectionDigests =>
  new Map(sections.map((each) => [each.id, sectionDigest(each)]))

/** Into `target`, in place: what is the same stays, with its focus. */
const partial = (target: string, swap: 'innerMorph' | 'outerMorph', body: Markup | readonly Markup[]): Markup =>
  html`<hx-partial hx-target="#${target}" hx-swap="${swap}">${body}</hx-partial>`

/**
 * The sections that differ; all of them when there are others than before.
 * @param before Undefined when it is unknown what is shown.
 */
export const changesSince = (before: SectionDigests | undefined, now: RenderedPage): Markup | undefined => {
  const shown = sectionDigests(now)
  const isSame = before !== undefined && [...before.keys()].join(' ') === [...shown.keys()].join(' ')
  if (!isSame) return partial('sections', 'innerMorph', now.sections.map(section))
  const changed = now.sections.filter(({ id }) => before.get(id) !== shown.get(id))
  if (changed.length === 0) return undefined
  return html`${changed.map((each) => partial(sectionId(each.id), 'outerMorph', section(each)))}`
}

export const bannerChange = (banner: Markup | undefined): Markup => partial('recovery', 'innerMorph', banner ?? html``)

export const GONE = partial(
  'sections',
  'innerMorph',
  html`<section><p class="empty">It is gone: it was deleted while you looked at it.</p></section>`,
)
