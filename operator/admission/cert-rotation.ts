import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { Api } from '../client/api.ts'
import { type Reflector, reflect } from '../client/reflector.ts'
import type { Clock } from '../model/clock.ts'
import type { Logger } from '../model/log.ts'
import type { KubeObject, Resource } from '../model/resource.ts'
import { injectCaBundle, MUTATING, VALIDATING, type WebhookConfiguration } from './ca-bundle.ts'
import { ensureAuthorities, SECRETS } from './ca-secret.ts'
import { bundleOf, isSignedBy, isUsable, type KeyPair, renewalOf, signerOf, signLeaf } from './certificates.ts'

export interface CertRotationOptions {
  readonly api: Api
  /** Holds the certificate authorities that all replicas share. */
  readonly secret: { readonly name: string; readonly namespace: string }
  /** Names of the configurations that get the caBundle; they need not be there yet. */
  readonly validating?: string | readonly string[] | undefined
  readonly mutating?: string | undefined
  /** Names and addresses under which the API server calls us. */
  readonly hosts: readonly string[]
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** A new certificate to serve with. */
  onLeaf(leaf: KeyPair): void
}

/** How soon a new authority signs, and how soon a failure is tried again. */
const MIN_RECHECK_DELAY_MS = 60_000
const RETRY_DELAY_MS = 5_000
/** How soon it is seen that the machine's time was set, or that it slept. */
const MAX_SLEEP_MS = 60_000

/**
 * Keeps the API server's trust in our webhooks: an authority in the Secret, its certificate in the webhook
 * configurations, and a leaf of it to serve with, each renewed after two thirds of its life. Everything is looked at
 * again when one of these objects changes, so what others overwrite is put right.
 */
export interface CertRotation {
  /** There is a leaf, and every configuration that is there has the bundle. False when the signal came first. */
  readonly established: Promise<boolean>
  /** After the signal. */
  readonly stopped: Promise<void>
}

// RUNTIME-43
export const rotateCertificates = (options: CertRotationOptions): CertRotation => {
  const { api, secret, hosts, clock, log, signal, onLeaf } = options
  const established = Promise.withResolvers<boolean>()
  let leaf: KeyPair | undefined
  let sleep = new AbortController()
  const wake = () => sleep.abort()

  const watch = <O extends KubeObject>(resource: Resource<O>, name: string, namespace?: string): Reflector<O> =>
    reflect(api.transport, resource, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
      clock,
      log,
      signal,
      onEvent: wake,
    })

  const secrets = watch(SECRETS, secret.name, secret.namespace)
  const configurations = [
    ...[options.validating ?? []].flat().map((name) => ({ resource: VALIDATING, seen: watch(VALIDATING, name) })),
    ...(options.mutating === undefined ? [] : [{ resource: MUTATING, seen: watch(MUTATING, options.mutating) }]),
  ]

  /** @returns milliseconds after which to look again */
  const syncCertificates = async (): Promise<number> => {
    const now = clock.now().getTime()
    const authorities = await ensureAuthorities(api, secret, now)
    const bundle = bundleOf(authorities)
    for (const { resource, seen } of configurations) {
      for (const configuration of seen.store.values()) {
        await injectCaBundle(api, resource, configuration as WebhookConfiguration, bundle)
      }
    }
    const signer = signerOf(authorities, now)
    if (signer !== undefined && (await isOutdated(leaf, authorities, now))) {
      leaf = await signLeaf(signer, hosts, now)
      onLeaf(leaf)
      log.info('serving webhooks with a new certificate', { hosts })
    }
    const [newest] = authorities
    if (leaf === undefined || newest === undefined) return RETRY_DELAY_MS
    const renewal = Math.min(renewalOf(leaf.certificate), renewalOf(newest.certificate))
    return Math.max(MIN_RECHECK_DELAY_MS, renewal - now)
  }

  /** By the machine's time, in short naps: it is what certificates end by. */
  const restUntil = async (moment: number, woken: AbortSignal): Promise<void> => {
    const begin = clock.now().getTime()
    const left = () => moment - clock.now().getTime()
    // Set back, it is before certificates of ours begin.
    while (!woken.aborted && left() > 0 && clock.now().getTime() >= begin)
      await clock.sleep(Math.min(MAX_SLEEP_MS, left()), woken)
  }

  const run = async (): Promise<void> => {
    await Promise.all([secrets.synced, ...configurations.map(({ seen }) => seen.synced)])
    while (!signal.aborted) {
      sleep = new AbortController()
      let delay = RETRY_DELAY_MS
      try {
        delay = await syncCertificates()
        established.resolve(true)
      } catch (error) {
        if (signal.aborted) break
        const message = error instanceof Error ? error.message : String(error)
        log.warn(`webhook certificates can't be set up, retrying: ${message}`, { err: error })
      }
      using either = new AbortScope(signal, sleep.signal)
      await restUntil(clock.now().getTime() + delay, either.signal)
    }
    established.resolve(false)
    await Promise.all([secrets.stopped, ...configurations.map(({ seen }) => seen.stopped)])
  }

  return { established: established.promise, stopped: run() }
}

/** True also when no trusted authority has signed it, as the Secret was replaced, or when it is of the future. */
const isOutdated = async (
  leaf: KeyPair | undefined,
  authorities: readonly KeyPair[],
  now: number,
): Promise<boolean> => {
  if (leaf === undefined || !isUsable(leaf, now) || renewalOf(leaf.certificate) <= now) return true
  const signed = await Promise.all(authorities.map(({ certificate }) => isSignedBy(leaf.certificate, certificate)))
  return !signed.includes(true)
}
