import { join } from 'node:path'
import type { Home } from '../muster/managers.ts'
import { apply, type Manifest, missing, remove } from './manifests.ts'
import type { Run } from './run.ts'
import type { Screen } from './screen.ts'

export const NAMESPACE = 'hyperfleet-system'

export const KUSTOMIZE = join(import.meta.dirname, '..', '..', 'kustomize')

/** Where the steps of one run do their work. */
export interface Place extends Home {
  readonly run: Run
  readonly screen: Screen
  /** The folder of the logs. */
  readonly logs: string
}

/** Applies manifests; the undo removes those that were not there. Objects of a cluster that goes away need no removing. */
export const applyForNow = async (
  { run, cluster }: Pick<Place, 'run' | 'cluster'>,
  undo: string,
  manifests: readonly Manifest[],
): Promise<void> => {
  if (!cluster.ours) {
    const added = await missing(cluster, manifests)
    run.undo(undo, () => remove(cluster, added))
  }
  await apply(cluster, manifests)
}
