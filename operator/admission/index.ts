import type { Binding } from '../binding.ts'
import type { Api } from '../client/api.ts'
import type { Definition } from '../engine/definition.ts'
import type { Clock } from '../model/clock.ts'
import type { Logger } from '../model/log.ts'
import { rotateCertificates } from './cert-rotation.ts'
import { createWebhookServer } from './server.ts'

/**
 * Where and how validate and mutate handlers are served: `/validate/<controller>` and `/mutate/<controller>`.
 * The webhook configurations are declared without caBundle, which is filled in and kept.
 */
export interface AdmissionOptions {
  /** Where to listen. */
  readonly binding: Binding
  /** How the API server reaches us, e.g. 'muster-webhook.muster.svc', or IP addresses. The certificate is for these. */
  readonly hosts: readonly string[]
  /** Of the certificate authority; made when it is not there. */
  readonly secret: { readonly name: string; readonly namespace: string }
  /** Name of the ValidatingWebhookConfiguration, or of several. */
  readonly validating?: string | readonly string[]
  /** Name of the MutatingWebhookConfiguration. */
  readonly mutating?: string
}

export interface AdmissionEnvironment {
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
  /** How long reviews in flight have at a stop, in milliseconds. */
  readonly stopTimeoutMs: number
}

export interface Admission {
  /** The port, once the API server can call us; undefined when stopped before. @throws BindingError */
  readonly serving: Promise<number | undefined>
  stop(): Promise<void>
}

/** Serves admission webhooks until it is stopped. */
export const serveAdmission = (
  definitions: readonly Definition[],
  { binding, ...trusted }: AdmissionOptions,
  { api, clock, log, stopTimeoutMs }: AdmissionEnvironment,
): Admission => {
  const stopping = new AbortController()
  const { signal } = stopping
  const server = createWebhookServer(definitions, binding, log)
  const bounded = api.withLimits({ signal })
  const trust = rotateCertificates({
    ...trusted,
    api: bounded,
    clock,
    log,
    signal,
    onLeaf: (leaf) => server.serve(leaf),
  })
  return {
    serving: trust.established.then((established) => (established ? server.listening : undefined)),
    async stop() {
      stopping.abort(new Error('the operator is stopping'))
      await Promise.all([server.stop(stopTimeoutMs), trust.stopped])
    },
  }
}
