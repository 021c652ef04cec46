/** Fields of files of a dry run that nothing knows: the API server, or the run, would leave them out without a word. ADAPTER-137. */
import type { TaskProblem } from '#controllers/adapter/task/task-problems.ts'
import { isObject } from '#lib/json/is-object.ts'
import { unknownSpecFields } from '../unknown-fields.ts'

/** Fields of the spec of an AdapterTask that it does not have; none of a document that is another one. */
export const unknownTaskFields = (document: unknown): readonly TaskProblem[] =>
  isObject(document) && document.kind === 'AdapterTask'
    ? unknownSpecFields('AdapterTask', document.spec).map((path) => ({
        path,
        message: 'an AdapterTask has no such field',
      }))
    : []

/** What the rules of canned responses may say; match and responses of a rule by their paths. */
const KNOWN = {
  rule: ['match', 'responses'],
  match: ['method', 'urlPattern'],
  answer: ['statusCode', 'headers', 'body'],
} as const

/** The first field of the rules that is not known, and what is; undefined when all are. */
export const unknownRuleField = (rules: readonly unknown[]): string | undefined =>
  rules
    .flatMap((rule, at) => {
      if (!isObject(rule)) return []
      const place = `responses[${at}]`
      const answers = Array.isArray(rule.responses) ? rule.responses : []
      return [
        ...unknownKeys(rule, KNOWN.rule, place),
        ...unknownKeys(rule.match, KNOWN.match, `${place}.match`),
        ...answers.flatMap((answer, index) => unknownKeys(answer, KNOWN.answer, `${place}.responses[${index}]`)),
      ]
    })
    .at(0)

const unknownKeys = (value: unknown, known: readonly string[], place: string): readonly string[] =>
  isObject(value)
    ? Object.keys(value)
        .filter((key) => !known.includes(key))
        .map((key) => `${place}.${key} is not known: write ${known.join(', ')}`)
    : []
