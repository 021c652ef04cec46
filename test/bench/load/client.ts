/**
 * The load generator's own way to the API server. It shares nothing with operator/client on purpose: what is measured
 * must not also be the yardstick.
 */
import { readFileSync } from 'node:fs'
import { KubeConfig } from '@kubernetes/client-node'
import { Pool } from 'undici'

export interface ApiServer {
  /** The parsed answer. @throws StatusError for anything but 2xx. */
  request(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<unknown>
  /** The answer as text, for /metrics. */
  text(path: string): Promise<string>
  /** Calls back for each line of a stream until it ends or the signal aborts. */
  lines(path: string, onLine: (line: string) => void, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export class StatusError extends Error {
  readonly status: number
  constructor(request: string, status: number, body: string) {
    super(`${request} answered ${status}: ${body.slice(0, 300)}`)
    this.name = 'StatusError'
    this.status = status
  }
}

/** Opens pooled connections with the credentials of a kubeconfig file. */
export const connect = (kubeconfig: string, connections = 32): ApiServer => {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const cluster = config.getCurrentCluster()
  const user = config.getCurrentUser()
  if (cluster === null) throw new Error(`${kubeconfig} has no current cluster`)
  const pem = (data: string | undefined, file: string | undefined): string | undefined =>
    data !== undefined ? Buffer.from(data, 'base64').toString() : file && readFileSync(file, 'utf8')
  const pool = new Pool(cluster.server, {
    connections,
    allowH2: false,
    bodyTimeout: 0,
    connect: {
      ca: pem(cluster.caData, cluster.caFile),
      cert: pem(user?.certData, user?.certFile),
      key: pem(user?.keyData, user?.keyFile),
      rejectUnauthorized: !cluster.skipTLSVerify,
    },
  })
  const authorization = user?.token === undefined ? {} : { authorization: `Bearer ${user.token}` }

  const text = async (method: string, path: string, body?: object): Promise<string> => {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const response = await pool.request({
      path,
      method,
      headers: { ...authorization, accept: 'application/json', 'content-type': contentType },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer = await response.body.text()
    if (response.statusCode >= 300) throw new StatusError(`${method} ${path}`, response.statusCode, answer)
    return answer
  }

  return {
    request: async (method, path, body) => JSON.parse(await text(method, path, body)),
    text: (path) => text('GET', path),
    lines: async (path, onLine, signal) => {
      const response = await pool.request({ path, method: 'GET', headers: authorization, signal })
      if (response.statusCode !== 200)
        throw new StatusError(`GET ${path}`, response.statusCode, await response.body.text())
      let rest = ''
      response.body.setEncoding('utf8')
      for await (const chunk of response.body) {
        const parts = `${rest}${chunk}`.split('\n')
        rest = parts.pop() ?? ''
        for (const line of parts) onLine(line)
      }
    },
    close: () => pool.destroy(),
  }
}
