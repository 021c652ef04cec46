/**
 * The service's API:
 *
 *   POST   /clusters          creates; the same name again is the same cluster
 *   GET    /clusters          those of the token's project
 *   GET    /clusters/{name}   with its kubeconfig
 *   PUT    /clusters/{name}   changes it; PATCH changes only what it names
 *   DELETE /clusters/{name}   202 until it is gone, then 404
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { isIPv4 } from 'node:net'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import Type, { type Static } from 'typebox'
import type { LocalClusters, Project } from './clusters.ts'
import { Problem } from './problem.ts'

const changes = {
  power: Type.Optional(Type.Enum(['Running', 'Hibernating'])),
  serviceCidr: Type.Optional(Type.String({ pattern: '^[0-9.]+/(1[2-9]|2[0-8])$' })),
  featureGates: Type.Optional(Type.String({ pattern: '^([A-Za-z]+=(true|false)(,|$))*$' })),
  domain: Type.Optional(Type.String({ pattern: '^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$' })),
}
const name = Type.String({ pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$' })
const creation = Type.Object({ name, ...changes }, { additionalProperties: false })
const change = Type.Object({ name: Type.Optional(name), ...changes }, { additionalProperties: false })

type Creation = Static<typeof creation>
type Change = Static<typeof change>

interface ByName {
  readonly Params: { readonly name: string }
}

export const createServer = (clusters: LocalClusters, projects: readonly Project[]): FastifyInstance => {
  // What the service does not know is refused, not left out.
  const app = fastify({ ajv: { customOptions: { removeAdditional: false, coerceTypes: false } } })

  app.setNotFoundHandler((request) => {
    throw new Problem(404, 'NoRoute', `there is no ${request.method} ${request.url}`)
  })
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, _request, reply) => {
    const known = error instanceof Problem ? error : undefined
    const status = known?.status ?? error.statusCode ?? 500
    const code = known?.code ?? (status < 500 ? 'BadRequest' : 'Internal')
    return reply
      .status(status)
      .type('application/problem+json')
      .send(JSON.stringify({ status, code, detail: error.message }))
  })

  /** @throws Problem */
  const projectOf = ({ headers }: FastifyRequest): Project => {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    const project = projects.find((one) => timingSafeEqual(digest(one.token), digest(token)))
    if (project === undefined) throw new Problem(401, 'Unauthorized', 'show a token: Authorization: Bearer TOKEN')
    return project
  }

  // Before the body is judged.
  app.addHook('onRequest', async (request) => void projectOf(request))
  app.post<{ Body: Creation }>('/clusters', { schema: { body: creation } }, async (request, reply) => {
    const { name, ...spec } = request.body
    requireCidr(spec.serviceCidr)
    const { isNew, view } = await clusters.create(projectOf(request), name, spec)
    return reply.status(isNew ? 201 : 200).send(view)
  })
  app.get('/clusters', async (request) => ({ items: clusters.list(projectOf(request).project) }))
  app.get<ByName>('/clusters/:name', async (request, reply) => {
    const view = clusters.get(projectOf(request).project, request.params.name)
    // It says which cluster it is, not in which state: a deletion is for this very one.
    return reply.header('etag', `"${view.uid}"`).send(view)
  })
  app.route<ByName & { Body: Change }>({
    method: ['PUT', 'PATCH'],
    url: '/clusters/:name',
    schema: { body: change },
    handler: async (request) => {
      const { project } = projectOf(request)
      const { name = request.params.name, ...spec } = request.body
      if (name !== request.params.name) throw new Problem(400, 'BadRequest', `name can't be changed to ${name}`)
      return clusters.change(project, name, spec)
    },
  })
  app.delete<ByName>('/clusters/:name', async (request, reply) => {
    const uid = request.headers['if-match']?.replaceAll('"', '')
    const view = await clusters.remove(projectOf(request).project, request.params.name, uid)
    return reply.status(202).send(view)
  })
  return app
}

/** Of one length, as the comparison needs them. */
const digest = (token: string): Buffer => createHash('sha256').update(token).digest()

const requireCidr = (cidr: string | undefined): void => {
  if (cidr !== undefined && !isIPv4(cidr.split('/')[0] ?? ''))
    throw new Problem(
      400,
      'BadRequest',
      `serviceCidr ${cidr} is no range of IPv4 addresses: write one such as 10.0.0.0/24`,
    )
}
