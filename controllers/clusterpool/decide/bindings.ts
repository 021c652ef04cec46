/** The RoleBindings of a pool in the namespaces of its clusters. */

import type { Observed } from '../model/observed.ts'
import type { Action } from '../model/plan.ts'
import { adminBindingActions } from './admin-bindings.ts'
import { providerBindingActions } from './provider-bindings.ts'

/** The writes that bring them up to date. */
export const bindingActions = (observed: Observed): readonly Action[] => [
  ...adminBindingActions(observed),
  ...providerBindingActions(observed),
]
