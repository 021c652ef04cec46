/** The templates of tasks: the part of Go's text/template that tasks use, with the Go peer's functions. */

import { TEMPLATE_FUNCTION_NAMES, templateFunctions } from './template/functions.ts'
import { parse } from './template/parse.ts'
import { RENDER_LIMITS, type RenderLimits, render } from './template/render.ts'
import { fromData } from './template/value.ts'

export { TemplateError, TemplateRenderError, TemplateSyntaxError } from './template/errors.ts'

export interface Template {
  readonly text: string
  /** Names that the template takes from its data, first fields only: `{{ .a.b }}` takes `a`. */
  readonly names: ReadonlySet<string>
  /**
   * The text with the values filled in. A missing key is an error.
   * @param data JSON by name
   * @throws TemplateRenderError
   */
  render(data: Readonly<Record<string, unknown>>): string
}

export interface TemplateOptions {
  /** Names that the data will have: any other is an error when the template is read. All are taken when left out. */
  readonly names?: readonly string[]
  /** The time that `now` gives. */
  readonly now: () => Date
  readonly limits?: Partial<RenderLimits>
  /** Milliseconds of a monotonic clock, for the limit `time`. */
  readonly monotonic?: () => number
}

/** Reads a template. @throws TemplateSyntaxError */
export const compileTemplate = (text: string, options: TemplateOptions): Template => {
  const { names, now, limits, monotonic = () => performance.now() } = options
  if (!text.includes('{{')) return { text, names: new Set(), render: () => text }
  const tree = parse(text, { functions: TEMPLATE_FUNCTION_NAMES, variables: names })
  const functions = new Map(templateFunctions(now).map((each) => [each.name, each]))
  const rendering = { text, tree, functions, limits: { ...RENDER_LIMITS, ...limits }, monotonic }
  return { text, names: tree.names, render: (data) => render(rendering, fromData(data)) }
}
