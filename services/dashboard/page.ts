/** What a page is: a model made from the sources, which is its JSON twin, and the sections that show it. */
import type { Markup } from '#lib/markup/markup.ts'
import type { Sources } from './sources.ts'

export interface PageRequest {
  /** What the path names, such as `namespace` and `name`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly sources: Sources
  readonly now: Date
}

/** A part of a page that is exchanged by itself when it changes. */
export interface Section {
  /** Of its element; unique on the page. */
  readonly id: string
  /** Above it; undefined when it needs none. */
  readonly heading?: string
  readonly body: Markup
}

export interface Page<M> {
  /** As routers write it: `/devices/:name`. */
  readonly path: string
  /** The entry of the menu that is marked. */
  readonly menu: string
  /** All that the page shows; undefined when there is no such thing. */
  view(request: PageRequest): M | undefined
  title(model: M, request: PageRequest): string
  sections(model: M, request: PageRequest): readonly Section[]
}

/** A page at one moment. */
export interface RenderedPage {
  readonly model: unknown
  readonly title: string
  readonly sections: readonly Section[]
}

export interface AnyPage {
  readonly path: string
  readonly menu: string
  render(request: PageRequest): RenderedPage | undefined
}

export const page = <M>({ path, menu, view, title, sections }: Page<M>): AnyPage => ({
  path,
  menu,
  render(request) {
    const model = view(request)
    if (model === undefined) return undefined
    return { model, title: title(model, request), sections: sections(model, request) }
  },
})
