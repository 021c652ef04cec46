/**
 * Adapter tasks: one worker per AdapterTask.
 *
 *   AdapterTask ─► task (daemon) ─► events: queue | JetStream ─► lanes ─► run: params, preconditions, apply | delete, report
 *                      │                                           ▲
 *                      └─► status                  applied objects change (watch)
 *
 * How to write a task, and how deletion works: docs/adapters.md.
 */
import type { Registry } from 'prom-client'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { type Controller, controller } from '#operator/controller.ts'
import type { Bell } from '#operator/model/bell.ts'
import type { Clock } from '#operator/model/clock.ts'
import { type Access, accessTo } from './access.ts'
import { createMetrics } from './metrics.ts'
import { tend } from './tend.ts'
import { Kinds } from './transports/kinds.ts'

export interface AdapterDeps {
  readonly clock: Clock
  /** Where the adapters' metrics are registered. */
  readonly registry: Registry
  /** Of this program. */
  readonly version: string
  /** Environment variables, folders and files that tasks may read. Nothing else of the manager is visible to them. */
  readonly variables?: readonly string[]
  readonly files?: readonly string[]
}

export const adapter = ({
  clock,
  registry,
  version,
  variables = [],
  files = [],
}: AdapterDeps): Controller<AdapterTask> => {
  const tasks = controller(AdapterTask, { name: 'adapter', progress: 'memory', diffBase: 'memory' })
  const access: Access = accessTo({ variables, files, env: process.env })
  const bells = new Map<string, Bell>()
  let kinds: Kinds | undefined

  tasks.daemon(
    'task',
    tend({
      metrics: createMetrics(registry),
      version,
      access,
      bells,
      kinds: ({ api }) => (kinds ??= new Kinds(api.transport, clock)),
    }),
    { lease: leaseOf },
  )
  tasks.on.field('spec', 'reload', ({ object }) => bells.get(object.metadata.uid)?.ring())

  return tasks
}

/** Of several managers one works on a task, and the others stand by. */
const leaseOf = ({ metadata }: AdapterTask): { name: string; namespace: string } => ({
  name: `adapter-${metadata.name}`,
  namespace: metadata.namespace ?? 'default',
})
