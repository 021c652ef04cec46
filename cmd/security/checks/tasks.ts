/** Objects that policies refuse today, and that may be older than they are. SECURITY-9. */
import { LINES } from '../lines.ts'
import { type Check, defineCheck, NAMESPACE, nameOf } from '../model.ts'
import { ALL_USERS, holdersOf } from './grants.ts'

const PREFIX = `system:serviceaccount:${NAMESPACE}:`

/** No task acts as one of Muster's own accounts. */
const taskAccounts = defineCheck('task-accounts', ['AdapterTask'], ({ AdapterTask: tasks }, [base]) => {
  const own = new Set(holdersOf(base.objects).map(({ subject }) => subject))
  return tasks
    .filter(({ spec }) => own.has(`${PREFIX}${spec.serviceAccountName}`))
    .map(({ metadata, spec }) => ({
      line: LINES.taskAccount,
      where: nameOf('AdapterTask', metadata),
      what: `it acts as ${spec.serviceAccountName}, an account of Muster’s own`,
      todo: 'make an account for it, with the rights that the task needs, and name it in spec.serviceAccountName',
    }))
})

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

export const objectChecks: readonly Check[] = [taskAccounts, claimSubjects]
