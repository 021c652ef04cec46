/**
 * Sessions of browsers, which can't send a token by themselves. The cookie is a number that says nothing: cookies of localhost are
 * sent to every port of it, and a token would give away the cluster. They are kept in memory, so a restart ends them.
 */
import { randomBytes } from 'node:crypto'
import { type Clock, monotonic } from '#operator/model/clock.ts'

/** How long a session lasts, in seconds. */
const SESSION_SECONDS = 12 * 3_600
const MAX_SESSIONS = 1_000
const COOKIE_NAME = 'muster-dashboard'

export class Sessions {
  readonly #clock: Clock
  readonly #attributes: string
  readonly #tokens = new Map<string, { readonly token: string; readonly until: number }>()

  /** @param isSecure browsers send the cookie by TLS only */
  constructor(clock: Clock, isSecure: boolean) {
    this.#clock = clock
    this.#attributes = `HttpOnly; SameSite=Strict; Path=/${isSecure ? '; Secure' : ''}`
  }

  /** @returns the value of Set-Cookie */
  begin(token: string): string {
    this.#clear()
    const id = randomBytes(24).toString('base64url')
    this.#tokens.set(id, { token, until: monotonic(this.#clock) + SESSION_SECONDS * 1000 })
    const oldest = this.#tokens.keys().next().value
    if (this.#tokens.size > MAX_SESSIONS && oldest !== undefined) this.#tokens.delete(oldest)
    return `${COOKIE_NAME}=${id}; ${this.#attributes}; Max-Age=${SESSION_SECONDS}`
  }

  /** What is over. */
  #clear(): void {
    const now = monotonic(this.#clock)
    for (const [id, { until }] of this.#tokens) if (until <= now) this.#tokens.delete(id)
  }

  /** The token of the session that a request belongs to. @param cookies the header Cookie */
  tokenOf(cookies: string | undefined): string | undefined {
    const id = sessionIdIn(cookies)
    const session = id === undefined ? undefined : this.#tokens.get(id)
    if (session === undefined || session.until <= monotonic(this.#clock)) return undefined
    return session.token
  }

  /** @returns the value of Set-Cookie */
  end(cookies: string | undefined): string {
    const id = sessionIdIn(cookies)
    if (id !== undefined) this.#tokens.delete(id)
    return `${COOKIE_NAME}=; ${this.#attributes}; Max-Age=0`
  }
}

const sessionIdIn = (cookies = ''): string | undefined =>
  cookies
    .split(';')
    .map((pair) => pair.trim().split('='))
    .find(([name]) => name === COOKIE_NAME)?.[1]
