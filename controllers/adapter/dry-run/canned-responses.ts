/** The answers that a dry run gets from its API, in the Go adapter's form: `{responses: [{match: {method, urlPattern}, responses: [{statusCode, headers, body}]}]}`. */
import { errorOf } from '#lib/errors/error-of.ts'
import { ADAPTER_ERRORS } from '../errors.ts'
import type { HttpRequest, HttpResponse, RoundTrip } from '../http/connection.ts'
import type { Json } from '../task/task.ts'

export interface CannedResponse {
  readonly statusCode?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Json
}

export interface ResponseRule {
  readonly match: { readonly method?: string; readonly urlPattern: string }
  readonly responses: readonly CannedResponse[]
}

/** What is wrong with a file of a dry run, and what to write. */
export class DryRunFileError extends errorOf(ADAPTER_ERRORS, 'DryRunFileError') {}

interface CompiledRule {
  readonly method: string
  readonly pattern: RegExp
  readonly responses: readonly CannedResponse[]
}

/** Answers in order, the last one again and again; what no rule matches is answered with 200 and {}. @throws DryRunFileError */
export const cannedResponses = (
  rules: readonly ResponseRule[],
  onRequest: (request: HttpRequest) => void,
): RoundTrip => {
  const compiled = rules.map(compile)
  const used = new Map<CompiledRule, number>()
  return async (request) => {
    onRequest(request)
    const rule = compiled.find(
      ({ method, pattern }) => matchesMethod(method, request.method) && pattern.test(request.url),
    )
    if (rule === undefined) return toHttpResponse({})
    const at = used.get(rule) ?? 0
    used.set(rule, at + 1)
    return toHttpResponse(rule.responses[Math.min(at, rule.responses.length - 1)] ?? {})
  }
}

const matchesMethod = (pattern: string, method: string): boolean =>
  pattern === '' || pattern === '*' || pattern === method

const compile = ({ match, responses }: ResponseRule, at: number): CompiledRule => {
  const place = `responses[${at}]`
  if (match === undefined || typeof match.urlPattern !== 'string')
    throw new DryRunFileError(`${place}: write match: {method: GET, urlPattern: ".*/clusters/.*"}`)
  if (!Array.isArray(responses)) throw new DryRunFileError(`${place}.responses: write a list of {statusCode, body}`)
  try {
    return { method: (match.method ?? '').toUpperCase(), pattern: new RegExp(match.urlPattern), responses }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new DryRunFileError(`${place}.match.urlPattern: ${why}`, { cause: error })
  }
}

const toHttpResponse = ({ statusCode = 200, headers = {}, body = {} }: CannedResponse): HttpResponse => ({
  status: statusCode,
  headers,
  text: typeof body === 'string' ? body : JSON.stringify(body),
})
