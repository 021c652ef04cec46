import type { Resource } from '../model/resource.ts'
import type { ResourceWrite } from '../storage/resource-write.ts'

/**
 * Does this step begin a reconciliation? A resource that is made not ready, one that was Ready and no longer is, and one
 * whose deletion begins: from then on adapters have work to do. Go service: reconciliation_started_total.
 */
export const startsReconciliation = (step: ResourceWrite): boolean => {
  const { resource } = step
  switch (step.type) {
    case 'added':
      return isReady(resource) === false
    case 'modified':
      return resource.deleted_time === undefined
        ? isReady(step.before) === true && isReady(resource) === false
        : step.before.deleted_time === undefined
    case 'deleted':
      return false
  }
}

/** Undefined for a kind that no adapter works on. */
const isReady = ({ status }: Resource): boolean | undefined => {
  const ready = status.conditions.find(({ type }) => type === 'Ready')
  return ready === undefined ? undefined : ready.status === 'True'
}
