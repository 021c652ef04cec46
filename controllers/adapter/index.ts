/**
 * Adapter tasks: one worker per AdapterTask.
 *
 *   AdapterTask ─► task (daemon) ─► events: queue | JetStream ─► RunQueue ─► run: params, preconditions, apply | delete, report
 *                      │                                             ▲
 *                      └─► status                    applied objects change (watch)
 *   required (source): the adapters that the API requires, beside the tasks that there are ─► status, metrics, log
 *
 * The rules: docs/spec/adapter.md. How to write a task: docs/adapter-tasks.md. How deletion works: docs/adapters.md.
 */
import type { Registry } from 'prom-client'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { RestMapper } from '#operator/client/rest-mapper.ts'
import { type Controller, controller } from '#operator/controller.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { WakeSignal } from '#operator/model/wake-signal.ts'
import { type Access, grantAccess } from './access.ts'
import { refuseInvalidTask } from './admission.ts'
import { taskDaemon } from './daemon/daemon.ts'
import type { NatsFiles } from './events/nats-allowlist.ts'
import { AccountTokens } from './http/account-tokens.ts'
import { createMetrics } from './metrics.ts'
import { RequiredAdapters } from './required/required-adapters.ts'
import { RunHistory } from './runs/run-history.ts'

export interface AdapterDeps {
  readonly clock: Clock
  /** Where the adapters' metrics are registered. */
  readonly registry: Registry
  /** Of this program. */
  readonly version: string
  /** Environment variables, folders and files that tasks may read. Nothing else of the manager is visible to them. */
  readonly variables?: readonly string[]
  readonly files?: readonly string[]
  /** Prefixes of the URLs that resources of HTTP services may lead to; none when left out. */
  readonly httpTargets?: readonly string[]
  /** URLs of the NATS servers that events of tasks may come from; none when left out. */
  readonly natsServers?: readonly string[]
  /** Files with what those servers are shown, and with the authorities that they are known by. */
  readonly natsFiles?: NatsFiles
  /** The HyperFleet API of the manager, which needs no such prefix, and the only one that gets its token. */
  readonly hyperfleetApiUrl?: string | undefined
  /** File with the bearer token for that API, read for every request; tasks can't read it. */
  readonly hyperfleetApiTokenFile?: string | undefined
  /** Adapters that that API requires and that no task of this manager does. */
  readonly elsewhere?: readonly string[]
  /** Tasks show that API tokens of their own ServiceAccounts, meant for this audience; that of the file when left out. */
  readonly tokenAudience?: string | undefined
  /** Where runs are noted for others to read; only for the tasks' own status when left out. */
  readonly history?: RunHistory
  /** Refuse tasks that can't be run, by admission. */
  readonly denyInvalid?: boolean
}

export const adapter = ({
  clock,
  registry,
  version,
  variables = [],
  files = [],
  httpTargets = [],
  natsServers = [],
  natsFiles = {},
  hyperfleetApiUrl: url,
  hyperfleetApiTokenFile: tokenFile,
  elsewhere = [],
  tokenAudience,
  history = new RunHistory(),
  denyInvalid = false,
}: AdapterDeps): Controller<AdapterTask> => {
  const tasks = controller(AdapterTask, { name: 'adapter' })
  const access: Access = grantAccess({
    variables,
    files,
    httpTargets,
    natsServers,
    natsFiles,
    hyperfleetApi: { url, tokenFile },
    tokenAudience,
    env: process.env,
  })
  const reloadSignals = new Map<string, WakeSignal>()
  const metrics = createMetrics(registry)
  const present = tasks.index('present', (task) =>
    task.metadata.deletionTimestamp === undefined ? [['all', task]] : [],
  )
  const wakeAll = () => {
    for (const signal of reloadSignals.values()) signal.wake()
  }
  const required =
    url === undefined
      ? undefined
      : new RequiredAdapters({
          url,
          tokenFile,
          version,
          elsewhere,
          metrics,
          tasks: () => present.get('all'),
          onChange: wakeAll,
        })

  tasks.daemon(
    'task',
    taskDaemon({
      metrics,
      version,
      access,
      accountTokens: tokenAudience === undefined ? undefined : new AccountTokens(tokenAudience, clock),
      reloadSignals,
      history,
      required: (task) => required?.judge(task),
      kinds: ({ api }) => new RestMapper(api.transport, clock),
    }),
    { lease: leaseOf },
  )
  if (required !== undefined) tasks.source('required', (context) => required.run(context))
  tasks.on.field('spec', 'reload', ({ object }) => reloadSignals.get(object.metadata.uid)?.wake())
  if (denyInvalid) tasks.on.validate('invalid', refuseInvalidTask({ access, clock }))

  return tasks
}

/** Of several managers one works on a task, and the others stand by. */
const leaseOf = ({ metadata }: AdapterTask): { name: string; namespace: string } => ({
  name: `adapter-${metadata.name}`,
  namespace: metadata.namespace ?? 'default',
})
