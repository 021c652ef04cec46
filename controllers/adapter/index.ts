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
import { grantAccess } from './access.ts'
import { refuseInvalidTask } from './admission.ts'
import { taskDaemon, taskLease } from './daemon/daemon.ts'
import { AccountTokens } from './http/account-tokens.ts'
import { createMetrics } from './metrics.ts'
import type { AdapterOptions } from './options.ts'
import { RequiredAdapters } from './required/required-adapters.ts'
import { RunHistory } from './runs/run-history.ts'

export const adapter = (deps: AdapterOptions): Controller<AdapterTask> => {
  const { clock, tokenAudience } = deps
  const { hyperfleetApiUrl: url, hyperfleetApiTokenFile: tokenFile, hyperfleetApiCa: caFile } = deps
  const tasks = controller(AdapterTask, { name: 'adapter' })
  const present = tasks.index('present', (task) =>
    task.metadata.deletionTimestamp === undefined ? [['all', task]] : [],
  )
  const access = grantAccess({ ...deps, hyperfleetApi: { url, tokenFile, caFile }, env: process.env })
  const metrics = createMetrics(deps.registry)
  const reloadSignals = new Map<string, WakeSignal>()
  const reloadAll = () => {
    for (const signal of reloadSignals.values()) signal.wake()
  }
  const required =
    url === undefined
      ? undefined
      : new RequiredAdapters({
          ...deps,
          url,
          tokenFile,
          caFile,
          metrics,
          tasks: () => present.get('all'),
          onChange: reloadAll,
        })
  const run = taskDaemon({
    version: deps.version,
    accountsNamespace: deps.accountsNamespace,
    accountTokens: tokenAudience === undefined ? undefined : new AccountTokens(tokenAudience, clock),
    access,
    metrics,
    history: deps.history ?? new RunHistory(),
    reloadSignals,
    required: (task) => required?.judge(task),
    kinds: ({ api }) => new RestMapper(api.transport, clock),
  })

  tasks.daemon('task', run, { lease: taskLease })
  if (required !== undefined) tasks.source('required', (context) => required.run(context))
  tasks.on.field('spec', 'reload', ({ object }) => reloadSignals.get(object.metadata.uid)?.wake())
  if (deps.denyInvalid === true) tasks.on.validate('invalid', refuseInvalidTask({ access, clock }))

  return tasks
}
