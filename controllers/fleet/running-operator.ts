import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Api } from '#operator/client/api.ts'
import type { MayWait, SourceContext } from '#operator/engine/context.ts'
import { keyOf } from '#operator/model/resource.ts'
import { FleetOperator } from './fleet-operator.ts'
import type { Metrics } from './metrics.ts'
import { isNamespaceDeleted } from './namespace-deletion.ts'
import type { FleetOptions } from './options.ts'

/** Others may take over sooner than from other controllers: a fleet without a leader shows old numbers. */
const LEASE_TIMES = { leaseDuration: '8s', renewDeadline: '5s', retryPeriod: '1s' } as const
/** After which a Deployment is reconciled that met no operator: one that failed begins again, and windows open meanwhile. */
export const RETRY_INTERVAL = '1s'
/** How often a Deployment that is being deleted is looked at while no event says that its keys are gone. */
const KEYS_RECHECK_INTERVAL = '2s'

/** The fleet operator of this process: a new one for each run of its source, and none in between. */
export class RunningOperator {
  readonly #options: FleetOptions
  readonly #metrics: Metrics
  #operator: FleetOperator | undefined

  constructor(options: FleetOptions, metrics: Metrics) {
    this.#options = options
    this.#metrics = metrics
  }

  /** Until the signal aborts. @throws what ended the operator */
  async run({ api, follow, clock, log, signal, wake }: SourceContext): Promise<void> {
    const {
      nats,
      namespace,
      deviceLabels = [],
      signingKeys,
      deviceKeys,
      leaseNamespace,
      identity,
      viewRef,
    } = this.#options
    const name = namespace === undefined ? 'muster-fleet' : `muster-fleet-${namespace}`
    if (deviceLabels.includes('*'))
      log.warn('fleet: devices choose all their labels, and so their Deployments, also with a stolen key')
    const operator = new FleetOperator({
      access: { ...nats, name: `muster-fleet ${identity}` },
      namespace,
      ownLabels: deviceLabels,
      signingKeys,
      deviceKeys,
      lease: { name, namespace: leaseNamespace, times: LEASE_TIMES },
      identity,
      metrics: this.#metrics,
      api,
      follow,
      clock,
      log,
      wake,
    })
    this.#operator = operator
    if (viewRef !== undefined) viewRef.view = operator.view
    try {
      await operator.run(signal)
    } finally {
      this.#operator = undefined
      if (viewRef !== undefined) viewRef.view = undefined
    }
  }

  /** @throws ApiError, NetworkError */
  async reconcile({ metadata }: Deployment): Promise<MayWait> {
    const operator = this.#operator
    return operator === undefined ? { requeueAfter: RETRY_INTERVAL } : operator.reconcile(keyOf(metadata))
  }

  /**
   * Done once its keys are gone. They go at once when a person deleted it, and as the brake lets them when it goes with its namespace (FLEET-77).
   * @throws ApiError, NetworkError
   */
  async removeKeys(object: Deployment, api: Pick<Api, 'get'>): Promise<MayWait> {
    const key = keyOf(object.metadata)
    const operator = this.#operator
    if (operator?.isDeletionUnexplained(key) === true) {
      if (await isNamespaceDeleted(api, object)) operator.goesWithNamespace(key)
      else operator.deletedByPerson(key)
    }
    return operator?.areKeysDeleted(key) === true ? undefined : { requeueAfter: KEYS_RECHECK_INTERVAL }
  }
}
