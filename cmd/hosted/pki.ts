/** The certificates and keys of one hosted cluster, as the files of its pods. CLUSTER-25. */
import { generateKeyPairSync } from 'node:crypto'
import { dump } from 'js-yaml'
import { createAuthority, isUsable, type KeyPair, renewalOf, signLeaf } from '#operator/admission/certificates.ts'
import { Failure } from '../failure.ts'

/** Texts by the names of their files. */
export type Files = Readonly<Record<string, string>>

export interface HostedCluster {
  readonly name: string
  /** Of the management cluster. */
  readonly namespace: string
}

const DAY_MS = 24 * 3_600_000
const AUTHORITY_LIFETIME_MS = 10 * 365 * DAY_MS
const LEAF_LIFETIME_MS = 365 * DAY_MS
/** Where the pods have the files. */
const FOLDER = '/pki'

const hostOf = ({ name, namespace }: HostedCluster): string => `${name}-api.${namespace}.svc`

/** https://kubernetes.io/docs/setup/best-practices/certificates */
const leavesOf = (cluster: HostedCluster) => ({
  apiserver: {
    subject: 'CN=kube-apiserver',
    hosts: [
      hostOf(cluster),
      `${hostOf(cluster)}.cluster.local`,
      'kubernetes.default.svc',
      // For its own controllers, and for kubectl port-forward.
      'localhost',
      '127.0.0.1',
    ],
  },
  admin: { subject: 'O=system:masters, CN=admin', hosts: [] },
  'controller-manager': { subject: 'CN=system:kube-controller-manager', hosts: [] },
})

/**
 * What is there, with what is missing, and with new certificates for those that have less than a third of their life left.
 * @param before as it was read
 * @param now milliseconds since the epoch
 * @throws Failure when the authority is there in part: another one would make all kubeconfigs useless
 */
export const nextFiles = async (before: Files, cluster: HostedCluster, now: number): Promise<Files> => {
  const authority = readPair(before, 'ca') ?? (await createAuthority(cluster.name, now, AUTHORITY_LIFETIME_MS))
  const files: Record<string, string> = {
    ...before,
    ...pairFiles('ca', authority),
    'service-account.key': before['service-account.key'] ?? newKey(),
    'authentication.yaml': dump(AUTHENTICATION),
    'controller-manager.kubeconfig': kubeconfig(cluster.name, 'https://127.0.0.1:6443', `${FOLDER}/ca.crt`, {
      'client-certificate': `${FOLDER}/controller-manager.crt`,
      'client-key': `${FOLDER}/controller-manager.key`,
    }),
  }
  for (const [leaf, { subject, hosts }] of Object.entries(leavesOf(cluster))) {
    const known = readPair(before, leaf)
    if (known !== undefined && isUsable(known, now) && renewalOf(known.certificate) > now) continue
    const options = { subject, isClient: hosts.length === 0, lifetimeMs: LEAF_LIFETIME_MS }
    Object.assign(files, pairFiles(leaf, await signLeaf(authority, hosts, now, options)))
  }
  return files
}

/** Of the cluster's admin, for clients in the management cluster; it needs no other file. */
export const adminKubeconfig = (files: Files, cluster: HostedCluster): string =>
  kubeconfig(cluster.name, `https://${hostOf(cluster)}:6443`, Buffer.from(files['ca.crt'] ?? ''), {
    'client-certificate-data': toBase64(files['admin.crt'] ?? ''),
    'client-key-data': toBase64(files['admin.key'] ?? ''),
  })

/** The API server's health is asked by kubelet, which has no credentials; nothing else is answered without. */
const AUTHENTICATION = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  anonymous: { enabled: true, conditions: [{ path: '/livez' }, { path: '/readyz' }] },
}

const readPair = (files: Files, name: string): KeyPair | undefined => {
  const [certificate, key] = [files[`${name}.crt`], files[`${name}.key`]]
  if (certificate !== undefined && key !== undefined) return { certificate, key }
  if (name === 'ca' && (certificate ?? key) !== undefined)
    throw new Failure('of ca.crt and ca.key only one is there: bring the other back from a backup')
  return undefined
}

const pairFiles = (name: string, { certificate, key }: KeyPair): Files => ({
  [`${name}.crt`]: `${certificate.trim()}\n`,
  [`${name}.key`]: `${key.trim()}\n`,
})

const newKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'sec1' }).toString()

const toBase64 = (text: string): string => Buffer.from(text).toString('base64')

/** @param authority the path of its file, or what is in it */
const kubeconfig = (name: string, server: string, authority: string | Buffer, user: Files): string =>
  dump({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [
      {
        name,
        cluster: {
          server,
          ...(typeof authority === 'string'
            ? { 'certificate-authority': authority }
            : { 'certificate-authority-data': authority.toString('base64') }),
        },
      },
    ],
    users: [{ name: 'admin', user }],
    contexts: [{ name, context: { cluster: name, user: 'admin' } }],
  })
