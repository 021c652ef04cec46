import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, type Dispatcher, request } from 'undici'
import { type Kubectl, kubectl } from '#hack/cluster/kubectl.ts'
import type { LocalControlPlane } from '#hack/cluster/local/controlplane.ts'
import { readToken } from '#hack/cluster/local/credentials.ts'

/** How to reach an API server as its admin. */
export interface Reach {
  readonly server: string
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string
  /** PEM. */
  readonly certificateAuthority: string
  readonly token: string
  /** Folder of kubectl and the other binaries. */
  readonly binaries: string
}

/** The same of a server that a proxy can stand for; plain data, so that vitest can hand it to the workers. */
export interface Connection extends Reach {
  /** PEM; of the certificate authority, which is the server's own certificate. */
  readonly certificateKey: string
}

/** How to reach one on this machine. @param binaries the folder of kubectl */
export const connectionOf = async (local: LocalControlPlane, binaries: string): Promise<Connection> => ({
  server: local.server,
  kubeconfig: local.kubeconfig,
  certificateAuthority: await readFile(local.layout.certificate, 'utf8'),
  certificateKey: await readFile(local.layout.certificateKey, 'utf8'),
  token: await readToken(local.layout, 'admin'),
  binaries,
})

/** An answer of 400 and above, with the API server's own words. */
export class RestError extends Error {
  override readonly name = 'RestError'
  readonly status: number
  constructor(method: string, path: string, status: number, body: string) {
    super(`${method} ${path}: ${status} ${body}`)
    this.status = status
  }
}

/** @param patchType of a PATCH; a merge when undefined */
export type Rest = <T = unknown>(
  method: Dispatcher.HttpMethod,
  path: string,
  body?: unknown,
  patchType?: 'application/apply-patch+yaml',
) => Promise<T>

/** The admin's plain REST calls for arranging and checking tests; on purpose not the client under test. */
export const rest = ({ server, certificateAuthority, token }: Reach): Rest => {
  const dispatcher = new Agent({ connect: { ca: certificateAuthority } })
  return async (method, path, body, patchType) => {
    const response = await request(server + path, {
      method,
      dispatcher,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': method === 'PATCH' ? (patchType ?? 'application/merge-patch+json') : 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.body.text()
    if (response.statusCode >= 400) throw new RestError(method, path, response.statusCode, text)
    return JSON.parse(text)
  }
}

/** kubectl as admin. */
export const kubectlOf = ({ binaries, kubeconfig }: Reach): Kubectl =>
  kubectl(join(binaries, 'kubectl'), [`--kubeconfig=${kubeconfig}`])
