/** A NATS server's URL and the credentials in it: the client of NATS takes none out of a URL, and tells of the whole URL in errors. */

export type Credentials = { readonly user: string; readonly pass: string } | { readonly token: string }

/** What to connect with. @param url `nats://…` or `tls://…` @throws URIError when a `%` in the credentials begins no character */
export const serverOf = (url: string): { readonly servers: string } & Partial<Credentials> => ({
  servers: withoutCredentials(url),
  ...credentialsOf(url),
})

/** For logs and errors. */
export const withoutCredentials = (url: string): string => {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

/** The same for several URLs, separated by commas, of which any may be malformed. */
export const hideCredentials = (urls: string): string => urls.replace(/\/\/[^/,]*@/g, '//')

/** A name without a password is a token, as in NATS' own tools. */
const credentialsOf = (url: string): Credentials | undefined => {
  const { username, password } = new URL(url)
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)]
  if (user === '') return undefined
  return pass === '' ? { token: user } : { user, pass }
}
