import type { AnyController } from './controller.ts'
import type { Flags } from './flags/flag.ts'
import type { Resource } from './model/resource.ts'
import type { Rights } from './rights.ts'

/** Everything that a program knows of a controller before its code is loaded. It stands beside the controller's `index.ts`. */
export interface ControllerEntry<Context = never> {
  /** As `--controllers` takes it. */
  readonly name: string
  /** The controller with which this one runs; `--controllers` does not know it by itself. */
  readonly partOf?: string
  /** The custom resources that must be installed. */
  readonly kinds: readonly Resource[]
  /** The flags that only this controller has. */
  readonly flags: Flags
  /** Undefined for a part of another controller, which has the rights for both. */
  readonly rights?: Rights
  /** Imports the code of the controller and makes it: only what runs takes memory. */
  load(context: Context): Promise<AnyController>
}
