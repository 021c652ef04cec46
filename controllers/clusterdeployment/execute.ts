/** Carries out the step that was decided about a ClusterDeployment: writes to its annotation and to its record. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { Context } from '#operator/engine/context.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { Step } from './decision.ts'
import { REGISTRATION } from './labels.ts'
import { type FreshObservation, readRecords } from './observe.ts'
import { desiredLabels, desiredSpec, fallbackName, withInstallConfig } from './record/desired-record.ts'
import { originLabels } from './record/origin.ts'
import { type ClusterRecord, recordOf } from './record/record.ts'

/**
 * @returns the record as it is then; undefined when nothing was written there
 * @throws HyperFleetError
 */
export const execute = async (
  { hyperfleet }: { readonly hyperfleet: HyperFleetClient },
  context: Context<ClusterDeployment>,
  observed: FreshObservation,
  step: Step,
): Promise<ClusterRecord | undefined> => {
  const { patch, signal, events } = context
  const { deployment, installConfig, kubernetes } = observed
  const origin = originLabels(deployment, kubernetes.own)
  switch (step.do) {
    case 'Nothing':
    // Written before: whether it could be decides about the rest.
    case 'Hibernate':
      return undefined
    case 'Mark':
      // It comes back by the watch, and only then the cluster is registered.
      patch.merge({ metadata: { annotations: { [REGISTRATION]: step.registration } } })
      return undefined
    case 'Register': {
      const draft = {
        labels: { ...desiredLabels(deployment, step.registration), ...origin },
        spec: withInstallConfig(desiredSpec(deployment, step.attempt), installConfig),
      }
      const create = async (name: string) => recordOf(await hyperfleet.create('clusters', { name, ...draft }, signal))
      try {
        return await create(step.name)
      } catch (error) {
        if (!isConflict(error)) throw error
        // Another manager, or an answer that was lost, may have made it.
        const [made] = await readRecords(deployment, kubernetes, { hyperfleet, signal })
        if (made !== undefined) return made
        const name = fallbackName(deployment.metadata.name, step.registration)
        events.warning(
          'NameTaken',
          `another cluster of the HyperFleet API is called ${step.name}: registered as ${name}`,
        )
        return create(name)
      }
    }
    case 'Change': {
      const config = step.anew ? withInstallConfig({}, installConfig).installConfig : step.record.installConfig
      const spec = desiredSpec(deployment, step.attempt)
      const labels = { ...step.labels, ...origin }
      const change = { labels, spec: config === undefined ? spec : { ...spec, installConfig: config } }
      return recordOf(await hyperfleet.patch('clusters', step.record.id, change, signal))
    }
    case 'Withdraw':
      await hyperfleet.remove('clusters', step.record.id, signal)
      return undefined
  }
}

const isConflict = (error: unknown): boolean => error instanceof HyperFleetError && error.status === 409
