/** Connections to a server that is known by the authorities of a file, and by no others. */
import { readFile } from 'node:fs/promises'
import { buildConnector } from 'undici'

/** What undici is told of how to connect. */
type Connect = buildConnector.BuildOptions | buildConnector.connector

/**
 * With a file the authorities of the machine count for nothing. It is read for each connection, so that authorities are exchanged while
 * we run; connections that are open go on.
 * @param caFile PEM; the authorities of the machine when undefined
 */
export const connectBy = (caFile: string | undefined, options: buildConnector.BuildOptions = {}): Connect => {
  if (caFile === undefined) return options
  const secure = { ...options, allowH2: false }
  const plain = buildConnector(secure)
  // With the authorities change the sessions that connections go on with.
  let known: { readonly ca: string; readonly connect: buildConnector.connector } | undefined
  return (target, callback) => {
    if (target.protocol !== 'https:') return plain(target, callback)
    readAuthorities(caFile)
      .then((ca) => {
        if (known?.ca !== ca) known = { ca, connect: buildConnector({ ...secure, ca }) }
        known.connect(target, callback)
      })
      .catch((error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null))
  }
}

/** @throws Error also for a file without a certificate: of nothing, Node.js would take the authorities of the machine */
const readAuthorities = async (file: string): Promise<string> => {
  const text = await readFile(file, 'utf8')
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new Error(`${file} holds no certificate of an authority`)
}
