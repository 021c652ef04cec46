import type { FastifyInstance } from 'fastify'
import { Problem } from '../problems/problem.ts'

/** The Go service never looks at Content-Type; a body is JSON or it is refused as malformed. */
export const acceptAnyContentType = (app: FastifyInstance): void => {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    return parse(request, body as string, (error, value) => done(error && explainInvalidJson(body as string), value))
  })
}

/** Why a body was not taken: no JSON, or JSON with a key that could reach into the prototype of an object. */
const explainInvalidJson = (body: string): Problem => {
  try {
    JSON.parse(body)
    return new Problem('malformed', 'the body must not have the keys __proto__ or constructor.prototype')
  } catch (error) {
    return new Problem('malformed', `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
