import type { Api } from '../client/api.ts'
import { isAlreadyExists, isConflict } from '../client/errors.ts'
import { defineResource, type KubeObject, type Resource } from '../model/resource.ts'
import { createAuthority, isUsableAuthority, type KeyPair, renewalOf } from './certificates.ts'

/** core/v1 Secret. */
export interface Secret extends KubeObject<undefined, never> {
  readonly type?: string
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>
}

export const SECRETS = defineResource<undefined>({
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  scope: 'Namespaced',
  subresources: [],
}) as Resource<Secret>

/**
 * The authorities that all replicas share through a Secret, newest first. A replica that finds none, or an old one, makes
 * one; of several that do so at the same time the API server lets one win, and the others read what it made. The one
 * before stays, so that certificates that it signed are trusted until they are renewed. What can't sign now counts for nothing: it can't be
 * read, its key is another one's, or it is of the future or at its end, as after a clock that was wrong. API-189.
 * @param lifetime of one that is made, in milliseconds; a year when left out
 */
export const ensureAuthorities = async (
  api: Api,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  now: number,
  lifetime?: number,
): Promise<readonly KeyPair[]> => {
  for (;;) {
    const secret = await api.get(SECRETS, name, namespace)
    const known = authoritiesOf(secret).filter((authority) => isUsableAuthority(authority, now))
    const [newest] = known
    if (newest !== undefined && renewalOf(newest.certificate) > now) return known

    const authorities = [await createAuthority(name, now, lifetime), ...known.slice(0, 1)]
    const data = dataOf(authorities)
    try {
      if (secret === undefined) await api.create(SECRETS, { metadata: { name, namespace }, type: 'Opaque', data })
      else await api.replace(SECRETS, { ...secret, data })
      return authorities
    } catch (error) {
      if (!isAlreadyExists(error) && !isConflict(error)) throw error
    }
  }
}

/** The newest first, at most two; none that lacks its certificate or its key. */
export const authoritiesOf = (secret: Secret | undefined): readonly KeyPair[] =>
  (['ca', 'previous'] as const).flatMap((part) => {
    const certificate = secret?.data?.[`${part}.crt`]
    const key = secret?.data?.[`${part}.key`]
    return certificate === undefined || key === undefined
      ? []
      : [{ certificate: decode(certificate), key: decode(key) }]
  })

const dataOf = ([newest, previous]: readonly KeyPair[]): Record<string, string> => ({
  ...(newest && { 'ca.crt': encode(newest.certificate), 'ca.key': encode(newest.key) }),
  ...(previous && { 'previous.crt': encode(previous.certificate), 'previous.key': encode(previous.key) }),
})

const encode = (text: string): string => Buffer.from(text).toString('base64')
const decode = (base64: string): string => Buffer.from(base64, 'base64').toString()
