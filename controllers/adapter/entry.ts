import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { weaknessOfTargets } from '#lib/egress/own-services.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'
import { flag, optional, toggle, type Values, weakening } from '#operator/flags/flag.ts'
import { absolutePaths, httpPrefixes, names, namespaceName, natsServers, nonEmpty } from '#operator/flags/values.ts'
import { CALLER_REVIEWS, type Rights, readAfterConflict } from '#operator/rights.ts'
import type { AdapterOptions } from './options.ts'
import type { RunHistory } from './runs/run-history.ts'

/** Variables that hold a credential by their name, and those by which the manager itself is told. */
const CREDENTIAL =
  /^MUSTER_|(^|_|PG)(DATABASE_URL|DSN|PASS|PASSWD|PASSWORD|PASSPHRASE|PASSFILE|SECRET|TOKEN|CREDENTIALS?|SEED|KUBECONFIG|KEY|AUTH|COOKIE)(_|$)|APIKEY/i

const flags = {
  adapterAccountsNamespace: optional(
    'NAME',
    'namespace of the ServiceAccounts that adapter tasks act as (default: that of the task)',
    namespaceName,
  ),
  denyInvalidTasks: toggle('refuse AdapterTasks that can’t be run, by an admission webhook'),
  adapterEnv: weakening(
    flag('NAMES', 'environment variables that adapter tasks may read, separated by commas', names, ''),
    (variables) => {
      const secret = variables.find((name) => CREDENTIAL.test(name))
      if (secret === undefined) return undefined
      return {
        what: `tasks may read ${secret}, which is the manager’s own`,
        todo: 'take it out; what a task needs of secrets is a Secret that its account may read, or a file of --adapter-files',
      }
    },
  ),
  adapterFiles: flag(
    'PATHS',
    'folders and files that adapter tasks may read, separated by commas; never the folder of --hyperfleet-api-token-file',
    absolutePaths,
    '',
  ),
  adapterHttpTargets: weakening(
    flag(
      'URLS',
      'prefixes of the URLs that http resources of adapter tasks, and HyperFleet APIs other than the manager’s, may have, separated by commas',
      httpPrefixes,
      '',
    ),
    weaknessOfTargets,
  ),
  adaptersElsewhere: flag(
    'NAMES',
    'adapters that the HyperFleet API requires and that no task of this manager does, because they run elsewhere, separated by commas',
    names,
    '',
  ),
  adapterNatsCredentials: optional(
    'FILE',
    'credentials for the NATS servers of --adapter-nats-servers, read for each connection: a .creds file, or one with the seed of a key; tasks can’t read it',
    nonEmpty,
  ),
  adapterNatsServers: flag(
    'URLS',
    'NATS servers that the events of adapter tasks may come from (spec.events.url), separated by commas',
    natsServers,
    '',
  ),
  adapterTokenAudience: optional(
    'NAME',
    'adapter tasks show the HyperFleet API of --hyperfleet-api-url tokens of their own ServiceAccounts, meant for this audience (default: they show that of --hyperfleet-api-token-file)',
    nonEmpty,
  ),
}

type Context = Pick<
  AdapterOptions,
  'clock' | 'registry' | 'version' | 'hyperfleetApiUrl' | 'hyperfleetApiTokenFile' | 'hyperfleetApiCa'
> &
  Values<typeof flags> & { readonly runs: RunHistory; readonly natsCa: string | undefined }

const rights: Rights = {
  account: 'hyperfleet-adapter',
  testAccount: 'hyperfleet-adapter',
  role: 'hyperfleet-adapter',
  kind: 'Role',
  ofTaskAccounts: ['serviceaccounts', 'serviceaccounts/token'],
  about: 'To work on adapter tasks. What a task applies, it applies in the name of its own ServiceAccount.',
  why: {
    leases: 'One Lease an AdapterTask: a second replica stands by.',
    adapterinventories: 'What each task has applied, written down before it is applied.',
    events: 'Runs that fail and recover are events of the task.',
    'serviceaccounts/token':
      'Each task is known to the HyperFleet API by a token of its own ServiceAccount, kept in memory only.',
    serviceaccounts:
      'A task may do what its ServiceAccount may: one of this namespace, where there are no others. It is read to say that it is missing.',
  },
  rare: [readAfterConflict('hyperfleet.redhat.com', 'adaptertasks')],
  optional: {
    ...CALLER_REVIEWS,
    secrets: 'kustomize/components/webhook/rbac.yaml',
    validatingwebhookconfigurations: 'kustomize/components/webhook/rbac.yaml',
  },
  tests: ['test/integration/adapter', 'test/integration/cmd/deny-invalid-tasks'],
}

/** Adapter tasks: docs/adapters.md. */
export const adapterEntry = {
  name: 'adapter',
  kinds: [AdapterTask, AdapterInventory],
  flags,
  rights,
  load: async (options: Context) => {
    const { adapterEnv, adapterFiles, adapterHttpTargets, adapterNatsServers, adapterTokenAudience, ...rest } = options
    const { adaptersElsewhere, adapterAccountsNamespace, ...others } = rest
    const { denyInvalidTasks, runs, adapterNatsCredentials, natsCa, ...context } = others
    const { adapter } = await import('./index.ts')
    return adapter({
      ...context,
      history: runs,
      variables: adapterEnv,
      files: adapterFiles,
      httpTargets: adapterHttpTargets,
      natsServers: adapterNatsServers,
      natsFiles: { credentials: adapterNatsCredentials, ca: natsCa },
      elsewhere: adaptersElsewhere,
      accountsNamespace: adapterAccountsNamespace,
      tokenAudience: adapterTokenAudience,
      denyInvalid: denyInvalidTasks,
    })
  },
} as const satisfies ControllerEntry<Context>
