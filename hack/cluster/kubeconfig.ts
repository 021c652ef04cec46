import { writeFile } from 'node:fs/promises'
import { dump } from 'js-yaml'

export interface Access {
  /** Names cluster, user and context. */
  readonly name: string
  /** https://host:port */
  readonly server: string
  /** PEM. */
  readonly certificateAuthority: string | Buffer
  readonly token: string
  readonly namespace?: string
}

/** A kubeconfig file's text with one context that needs no other file. */
export const kubeconfig = ({ name, server, certificateAuthority, token, namespace }: Access): string =>
  dump({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [
      {
        name,
        cluster: { server, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') },
      },
    ],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace === undefined ? {} : { namespace }) } }],
  })

/** Writes it so that only its owner can read the token. */
export const writeKubeconfig = (file: string, access: Access): Promise<void> =>
  writeFile(file, kubeconfig(access), { mode: 0o600 })
