/** What the pages are made from. Each part is there when this process runs the controller that knows it. */

import type { FleetView } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { AdapterRuns } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import type { Cache } from '#operator/operator.ts'

export interface Sources {
  /** What is in memory of a kind; undefined when no controller of this process watches it. */
  objects<O extends KubeObject>(resource: Resource<O>): Cache<O> | undefined
  /** Undefined when this process does not run the fleet operator. */
  fleet(): FleetView | undefined
  /** Undefined when this process runs no adapter tasks. */
  runs(): AdapterRuns | undefined
}
