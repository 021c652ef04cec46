import type { FastifyError } from 'fastify'
import { errorOf } from '#lib/errors/error-of.ts'
import type { Markup } from '#lib/markup/markup.ts'
import { DASHBOARD_ERRORS } from './errors.ts'

/** A request that is answered with an error: status, title and message; the body replaces the message on a page. */
export class HttpError extends errorOf(DASHBOARD_ERRORS, 'HttpError') {
  readonly status: number
  readonly title: string
  readonly body: Markup | undefined

  constructor(status: number, title: string, message: string, body?: Markup) {
    super(message)
    this.status = status
    this.title = title
    this.body = body
  }
}

/** Nothing is at that address. */
export const notFound = (url: string): HttpError =>
  new HttpError(404, 'Not found', `there is nothing at ${url.split('?')[0]}: it may have been deleted`)

/** Any error of a handler, as it is answered. */
export const toHttpError = (error: FastifyError | HttpError): HttpError => {
  if (error instanceof HttpError) return error
  const { statusCode = 500 } = error
  if (statusCode < 500) return new HttpError(statusCode, 'Not understood', error.message)
  const failure = new HttpError(
    500,
    'Something went wrong',
    'the page could not be made: the log of the manager says why',
  )
  failure.cause = error
  return failure
}
