import type { FastifyInstance } from 'fastify'
import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'
import type { OpenApi } from './openapi.ts'
import { documentPage } from './page/page.ts'
import { CONTENT_SECURITY_POLICY } from './page/style.ts'

/** Where this API tells about itself, to every client. */
export const DOCUMENT_PATHS = {
  openApi: `${BASE_PATH}/openapi`,
  page: `${BASE_PATH}/openapi.html`,
  api: '/api/hyperfleet',
} as const

/** What serves. */
export interface Build {
  readonly version: string
  /** RFC 3339, or `unknown`. */
  readonly time: string
}

/** Serves the OpenAPI document for programs and for people, and what this API is. */
export const addDocuments = (app: FastifyInstance, openApi: OpenApi, { version, time }: Build): void => {
  const document = jsonBytes(openApi)
  const about = jsonBytes({ id: 'hyperfleet', href: DOCUMENT_PATHS.api, kind: 'API', version, build_time: time })
  // Made at the first request: most processes get none.
  let page: Buffer | undefined
  app.get(DOCUMENT_PATHS.openApi, async (_request, reply) => reply.type('application/json').send(document))
  app.get(DOCUMENT_PATHS.api, async (_request, reply) => reply.type('application/json').send(about))
  app.get(DOCUMENT_PATHS.page, async (_request, reply) => {
    page ??= Buffer.from(documentPage(openApi))
    return reply
      .headers({ 'Content-Security-Policy': CONTENT_SECURITY_POLICY, 'X-Content-Type-Options': 'nosniff' })
      .type('text/html; charset=utf-8')
      .send(page)
  })
}

const jsonBytes = (value: object): Buffer => Buffer.from(JSON.stringify(value))
