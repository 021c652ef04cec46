import { LIB_ERRORS } from '../errors/catalogue.ts'
import { errorOf } from '../errors/error-of.ts'

/** Where in a template, counted from 1 as editors do. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** @param offset of a character of the text, counted from 0 */
export const placeOf = (text: string, offset: number): Place => {
  const lines = text.slice(0, offset).split('\n')
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 }
}

/** The common part of what can be wrong with a template; never thrown by itself. */
export abstract class TemplateError extends errorOf(LIB_ERRORS, 'TemplateRenderError') {
  /** One sentence: what is wrong, and what to write instead where that is known. */
  readonly summary: string
  readonly place: Place
  constructor(summary: string, text: string, offset: number) {
    const place = placeOf(text, offset)
    super(`${summary} at line ${place.line}, column ${place.column} of the template`)
    this.summary = summary
    this.place = place
  }
}

/** The text is no valid template: syntax, or a name that nothing has. Found before it runs. */
export class TemplateSyntaxError extends TemplateError {
  override readonly name = 'TemplateSyntaxError'
}

/** A valid template that can't be rendered with these values: a missing key, an argument of a wrong type, a limit. */
export class TemplateRenderError extends TemplateError {
  override readonly name = 'TemplateRenderError'
}

/** Thrown where the place is not known; the renderer adds it. */
export class Refusal extends errorOf(LIB_ERRORS, 'Refusal') {}
