/** What texts in a task mean: expressions are CEL, templates are Go's. Reference: docs/reference/task-language.md. */

export {
  compileTemplate,
  type Template,
  TemplateError,
  type TemplateOptions,
  TemplateRenderError,
  TemplateSyntaxError,
} from '#lib/template/index.ts'
export { RESERVED_VARIABLES, taskExpressions } from './expressions.ts'
export { taskFunctions } from './functions.ts'
