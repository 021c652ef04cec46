/**
 * Texts with values filled in, for any controller: Go's text/template. `compileTemplate(text, options)` checks a template,
 * `render(data)` fills it in within limits. Reference: docs/reference/task-language.md.
 */

import { templateFunctions } from './functions/index.ts'
import { parse } from './parse.ts'
import { render } from './render.ts'
import { RENDER_LIMITS, type RenderLimits, type Spend } from './render-budget.ts'
import { fromData } from './value.ts'

export { TemplateError, TemplateRenderError, TemplateSyntaxError } from './errors.ts'

export interface Template {
  readonly text: string
  /** Names that the template takes from its data, first fields only: `{{ .a.b }}` takes `a`. */
  readonly names: ReadonlySet<string>
  /**
   * The text with the values filled in. A missing key is an error.
   * @param data JSON by name
   * @param spend is told what the rendering uses, while it goes on; what it throws ends it
   * @throws TemplateRenderError
   */
  render(data: Readonly<Record<string, unknown>>, spend?: Spend): string
}

export interface TemplateOptions {
  /** Names that the data will have: any other is an error when the template is read. All are taken when left out. */
  readonly names?: readonly string[]
  /** The time that `now` gives; without it the same data always give the same text. */
  readonly now?: () => Date
  /** Whether `{{ index map "key" }}` without the key is an error, instead of Go's `<no value>`. */
  readonly refusesNothing?: boolean
  readonly limits?: Partial<RenderLimits>
  /** Milliseconds of a monotonic clock, for the limit `time`. */
  readonly monotonic?: () => number
}

/** Reads a template. @throws TemplateSyntaxError */
export const compileTemplate = (text: string, options: TemplateOptions): Template => {
  const { names, now, refusesNothing = false, limits, monotonic = () => performance.now() } = options
  if (!text.includes('{{')) return { text, names: new Set(), render: () => text }
  const functions = new Map(templateFunctions(now).map((each) => [each.name, each]))
  const tree = parse(text, { functions: [...functions.keys()], variables: names })
  const rendering = { text, tree, functions, limits: { ...RENDER_LIMITS, ...limits }, refusesNothing, monotonic }
  return { text, names: tree.names, render: (data, spend) => render(rendering, fromData(data), spend) }
}
