/**
 * Tokens by which tasks are known to the HyperFleet API, each of its own ServiceAccount: ADAPTER-105. They are asked for when they are
 * needed, live for minutes, and are kept in memory only. Kubernetes: TokenRequest.
 */
import { messageOf } from '#lib/errors/message-of.ts'
import { isForbidden, isNotFound } from '#operator/client/errors.ts'
import type { Transport } from '#operator/client/transport.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { type Backoff, backoffDelay } from '#operator/model/outcome.ts'
import { type BearerToken, NoTokenError } from './bearer-token.ts'

/** Seconds; the least that Kubernetes gives. */
const LIFETIME_SECONDS = 600
/** Of its life; then another one is asked for, as kubelet does it. */
const RENEW_AFTER = 0.8
/** Between two requests for a token of one account, when the API server or the HyperFleet API refuses, in milliseconds. */
const MIN_INTERVAL_MS = 10_000
/** How long an account whose token could not be made is not asked about again. ADAPTER-110. */
const PAUSE: Backoff = { initial: 1_000, factor: 2, max: 30_000, jitter: 0.2 }

/** A ServiceAccount. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

interface IssuedToken {
  readonly text: string
  /** By a clock that only goes forward: what this machine or the API server takes for the time does not matter. Milliseconds. */
  readonly issuedAt: number
  readonly renewAt: number
  readonly endsAt: number
}

interface Failure {
  readonly error: NoTokenError
  /** In a row. */
  readonly count: number
  readonly until: number
}

interface TokenRequest {
  readonly spec: { readonly expirationSeconds: number }
  readonly status: { readonly token: string }
}

export class AccountTokens {
  readonly #audience: string
  readonly #clock: Clock
  readonly #random: () => number
  /** By namespace and name: tasks may share an account. */
  readonly #issued = new Map<string, IssuedToken>()
  readonly #requests = new Map<string, Promise<IssuedToken>>()
  readonly #failures = new Map<string, Failure>()

  /**
   * @param audience whom the tokens are meant for
   * @param random in [0, 1), for jitter
   */
  constructor(audience: string, clock: Clock, random: () => number = Math.random) {
    this.#audience = audience
    this.#clock = clock
    this.#random = random
  }

  /** @param transport as the manager, which may create tokens of the ServiceAccounts of the account's namespace */
  of(transport: Transport, account: Account): BearerToken {
    const key = keyOf(account)
    return {
      read: async () => {
        const held = this.#issued.get(key)
        const now = monotonic(this.#clock)
        if (held !== undefined && now < held.renewAt) return held.text
        const failure = this.#failures.get(key)
        const isUsable = held !== undefined && now < held.endsAt
        if (failure !== undefined && now < failure.until) {
          if (isUsable) return held.text
          throw failure.error
        }
        try {
          return (await this.#request(transport, account)).text
        } catch (error) {
          if (isUsable) return held.text
          throw error
        }
      },
      reject: (token) => {
        const held = this.#issued.get(key)
        // Another request has a newer one already.
        if (held?.text !== token) return held !== undefined
        if (monotonic(this.#clock) - held.issuedAt < MIN_INTERVAL_MS) return false
        this.#issued.delete(key)
        return true
      },
    }
  }

  /** Requests that need it at the same time wait for one. */
  #request(transport: Transport, account: Account): Promise<IssuedToken> {
    const key = keyOf(account)
    const underWay = this.#requests.get(key)
    if (underWay !== undefined) return underWay
    const asked = this.#create(transport, account)
      .then(
        (issued) => {
          this.#issued.set(key, issued)
          this.#failures.delete(key)
          return issued
        },
        (cause: unknown) => {
          const error = explain(cause, account)
          const count = (this.#failures.get(key)?.count ?? 0) + 1
          const until = monotonic(this.#clock) + backoffDelay(PAUSE, count, this.#random())
          this.#failures.set(key, { error, count, until })
          throw error
        },
      )
      .finally(() => this.#requests.delete(key))
    this.#requests.set(key, asked)
    return asked
  }

  async #create(transport: Transport, { namespace, name }: Account): Promise<IssuedToken> {
    const issuedAt = monotonic(this.#clock)
    const { spec, status } = await transport.request<TokenRequest>({
      method: 'POST',
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [this.#audience], expirationSeconds: LIFETIME_SECONDS },
      },
    })
    const lifetimeMs = spec.expirationSeconds * 1_000
    return {
      text: status.token,
      issuedAt,
      renewAt: issuedAt + lifetimeMs * RENEW_AFTER,
      endsAt: issuedAt + lifetimeMs,
    }
  }
}

const keyOf = ({ namespace, name }: Account): string => `${namespace}/${name}`

/** What to do about an account that is not there. */
export const missingAccount = ({ namespace, name }: Account): string =>
  `the ServiceAccount ${name} is not there: make it in the namespace ${namespace}, or name another one in spec.serviceAccountName`

const explain = (error: unknown, missing: Account): NoTokenError => {
  const account = `the ServiceAccount ${missing.name}`
  if (isNotFound(error)) return new NoTokenError(missingAccount(missing), { cause: error })
  if (isForbidden(error))
    return new NoTokenError(
      `the manager may not make a token of ${account}: ${messageOf(error)}; its own account needs the right to create serviceaccounts/token, as kustomize/base/rbac/adapter.yaml gives it`,
      { cause: error },
    )
  return new NoTokenError(`there is no token of ${account}: ${messageOf(error)}`, { cause: error })
}
