/** Claims that policies refuse today, and that may be older than they are. SECURITY-9. */
import { LINES } from '../lines.ts'
import { type Check, defineCheck, nameOf } from '../model.ts'
import { ALL_USERS } from './grants.ts'

/** No claim gives its cluster to all users. */
const claimSubjects = defineCheck('claim-subjects', ['ClusterClaim'], ({ ClusterClaim: claims }) =>
  claims.flatMap(({ metadata, spec }) =>
    (spec.subjects ?? [])
      .filter(({ name }) => ALL_USERS.has(`group:${name}`))
      .map(({ name }) => ({
        line: LINES.claimGroups,
        where: nameOf('ClusterClaim', metadata),
        what: `its subject ${name} is a group of all users`,
        todo: 'name the people, groups or ServiceAccounts who are meant',
      })),
  ),
)

export const claimChecks: readonly Check[] = [claimSubjects]
