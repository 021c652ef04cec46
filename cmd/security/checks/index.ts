/** Every check of `muster security check`. Decisions over what was read, without I/O. */
import type { Check } from '../model.ts'
import { apiAddressChecks } from './api-address.ts'
import { projectsCheck } from './argocd.ts'
import { claimChecks } from './claims.ts'
import { deviceEntriesCheck, deviceInfosCheck } from './devices.ts'
import { flagChecks } from './flags.ts'
import { natsUsersCheck } from './nats.ts'
import { clusterTrafficCheck, defaultDenyCheck, openTrafficCheck } from './network.ts'
import { clusterNamespacesCheck, namespaceCheck, podsCheck } from './pods.ts'
import { bindingsCheck, policiesCheck } from './policies.ts'
import { poolChecks } from './pool-clusters.ts'
import { rightsChecks } from './rights.ts'
import { settingsChecks } from './settings.ts'

export interface CheckSettings {
  /** Names as RBAC has them; groups as `group:NAME`. */
  readonly trustedSubjects: readonly string[]
}

export const allChecks = ({ trustedSubjects }: CheckSettings): readonly Check[] => [
  policiesCheck,
  bindingsCheck,
  ...rightsChecks(trustedSubjects),
  ...claimChecks,
  ...poolChecks,
  namespaceCheck,
  clusterNamespacesCheck,
  podsCheck,
  defaultDenyCheck,
  openTrafficCheck,
  clusterTrafficCheck,
  ...settingsChecks,
  ...apiAddressChecks,
  ...flagChecks,
  natsUsersCheck,
  deviceEntriesCheck,
  deviceInfosCheck,
  projectsCheck,
]
