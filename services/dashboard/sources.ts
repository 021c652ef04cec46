/** What the pages are made from. Each part is there when this process runs the controller that knows it. */
import type { AdapterRuns } from '#controllers/adapter/runs/run-history.ts'
import type { FleetView } from '#controllers/fleet/view.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import type { Cache } from '#operator/operator.ts'

export interface Sources {
  /** What is in memory of a kind; undefined when nobody in this process watches it. */
  objects<O extends KubeObject>(resource: Resource<O>): Cache<O> | undefined
  /** Undefined when this process does not run the fleet operator. */
  fleet(): FleetView | undefined
  /** Undefined when this process runs no adapter tasks. */
  runs(): AdapterRuns | undefined
}
