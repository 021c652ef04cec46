import type { Server } from 'node:http'
import { errorOf } from '#lib/errors/error-of.ts'
import { OPERATOR_ERRORS } from './model/error-catalogue.ts'

/** Where a server listens. An undefined host means all addresses. */
export interface Binding {
  readonly host: string | undefined
  /** 0 lets the system choose. */
  readonly port: number
}

/** An address that can't be listened on. One line that names the flag it came from. */
export class BindingError extends errorOf(OPERATOR_ERRORS, 'BindingError') {}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/

/** Whether a host can be reached from this machine only. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host)

export const isLoopback = ({ host }: Binding): boolean => host !== undefined && isLoopbackHost(host)

const ADDRESS = /^(?:\[(?<bracketed>[0-9a-fA-F:.]+)\]|(?<plain>[^:[\]]*)):(?<port>\d{1,5})$/

/**
 * Reads `:8081`, `127.0.0.1:8081`, `[::1]:8081`, or `0` for none, as controller-runtime's flags have them.
 * @param flag for the error, e.g. `--health-probe-bind-address`
 * @throws BindingError
 */
export const parseBinding = (text: string, flag: string): Binding | undefined => {
  if (text === '0') return undefined
  const { bracketed, plain, port } = ADDRESS.exec(text)?.groups ?? {}
  if (port === undefined || Number(port) > 65_535) {
    throw new BindingError(
      `${flag} ${JSON.stringify(text)} is not an address: write :8081, 127.0.0.1:8081, or 0 for none`,
    )
  }
  return { host: bracketed ?? (plain === '' ? undefined : plain), port: Number(port) }
}

/** Listens, and gives the port. @throws BindingError when the address is taken, not ours or not allowed */
export const listen = (server: Server, { host, port }: Binding, flag: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(bindingError(error, { host, port }, flag)))
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })

const bindingError = (error: NodeJS.ErrnoException, { host = '', port }: Binding, flag: string): BindingError => {
  const where = `${flag}: ${host}:${port}`
  switch (error.code) {
    case 'EADDRINUSE':
      return new BindingError(`${where} is taken by another process: choose another port, or 0 for none`, {
        cause: error,
      })
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new BindingError(`${where} is not an address of this machine`, { cause: error })
    case 'EACCES':
      return new BindingError(`${where} needs more rights: choose a port from 1024`, { cause: error })
    default:
      return new BindingError(`${where} can't be listened on: ${error.message}`, { cause: error })
  }
}
