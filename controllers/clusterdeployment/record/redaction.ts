/**
 * What of an install-config may be told to the HyperFleet API: every user that may read clusters there reads it, streams and archives carry
 * it. Adapters that need the secrets read the Secret, which the record names, with the rights of their own ServiceAccounts (CLUSTER-3).
 */

/** Names of fields that hold secrets, in any spelling, whatever the platform. Public SSH keys are no secret, but readers of clusters don't need them. */
const SECRET = /pass(word|wd|phrase)|secret|token|credential|(ssh|private|access|api)[-_]?key/i
/** A reference names an object, a mode a way of working; neither tells a secret. */
const REFERENCE = /(ref|name|path|mode)$/i
/** Credentials in a URL: http://user:password@proxy. */
const USER_IN_URL = /^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i
/** A key that is in PEM, whatever the field is called, with all that stands beside it. */
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/
/** Fields by which one of a list of variables has its name: `{name: DB_PASSWORD, value: x}`. */
const NAMING = /^(name|key)$/

const isSecret = (name: string): boolean => SECRET.test(name) && !REFERENCE.test(name)

/** A copy without secrets, at any depth. */
export const withoutSecrets = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((one) => !isPrivateKey(one)).map(withoutSecrets)
  if (typeof value === 'string') return value.replace(USER_IN_URL, '$1')
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const namesSecret = entries.some(([name, inner]) => NAMING.test(name) && typeof inner === 'string' && isSecret(inner))
  return Object.fromEntries(
    entries
      .filter(([name, inner]) => !isSecret(name) && !isPrivateKey(inner) && !(namesSecret && name === 'value'))
      .map(([name, inner]) => [name, withoutSecrets(inner)]),
  )
}

const isPrivateKey = (value: unknown): boolean => typeof value === 'string' && PRIVATE_KEY.test(value)
