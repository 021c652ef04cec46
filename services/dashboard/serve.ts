/** Listens. What the pages are made of is loaded with the first request, so that a dashboard without viewers costs nothing. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Binding } from '#operator/binding.ts'
import { listenWith, type SideServer, type Tls } from '#operator/serve.ts'
import type { AppOptions } from './app.ts'

/**
 * Stopping it ends open pages, which come back by themselves.
 * @param flag names where the binding came from, for the error
 * @param tls serves HTTPS with it; HTTP when undefined. PEM.
 * @throws BindingError
 */
export const serveDashboard = async (
  options: Omit<AppOptions, 'stopping' | 'isSecure'>,
  binding: Binding,
  flag: string,
  tls?: Tls,
): Promise<SideServer> => {
  const stopping = new AbortController()
  let loading: Promise<FastifyInstance> | undefined
  const load = async (): Promise<FastifyInstance> => {
    const { createApp } = await import('./app.ts')
    const app = await createApp({ ...options, isSecure: tls !== undefined, stopping: stopping.signal })
    await app.ready()
    return app
  }

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    loading ??= load()
    loading.then(
      (app) => app.routing(request, response),
      (error: unknown) => {
        options.log.error('the dashboard could not be loaded, the next request tries again', { err: error })
        loading = undefined
        response.writeHead(500).end('the dashboard could not be loaded: the log of the manager says why\n')
      },
    )
  }
  const server = await listenWith(listener, binding, flag, tls)
  return {
    port: server.port,
    stop: () => {
      stopping.abort(new Error('the dashboard stops'))
      return server.stop()
    },
  }
}
