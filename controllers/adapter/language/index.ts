/** What texts in a task mean: expressions are CEL, templates are Go's. Reference: docs/reference/task-language.md. */

export { compileTemplate } from '#lib/template/index.ts'
export { taskExpressions } from './expressions.ts'
