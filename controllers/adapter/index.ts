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
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { RestMapper } from '#operator/client/rest-mapper.ts'
import { type Controller, controller } from '#operator/controller.ts'
import type { WakeSignal } from '#operator/model/wake-signal.ts'
import { type Access, grantAccess } from './access.ts'
import { refuseInvalidTask } from './admission.ts'
import { taskDaemon } from './daemon/daemon.ts'
import { AccountTokens } from './http/account-tokens.ts'
import { createMetrics } from './metrics.ts'
import type { AdapterOptions } from './options.ts'
import { RequiredAdapters } from './required/required-adapters.ts'
import { RunHistory } from './runs/run-history.ts'

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
  accountsNamespace,
  tokenAudience,
  history = new RunHistory(),
  denyInvalid = false,
}: AdapterOptions): Controller<AdapterTask> => {
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
      accountsNamespace,
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
