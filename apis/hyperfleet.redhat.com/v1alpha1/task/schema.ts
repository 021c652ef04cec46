/** The schema of AdapterTask: the language of tasks (./task.ts) and what is around it. */
import Type, { type Static } from 'typebox'
import { duration } from '#apis/schema/duration.ts'
import { httpUrl } from '#apis/schema/http-url.ts'
import { labelSelector } from '#apis/schema/label-selector.ts'
import { rules } from '#apis/schema/rule.ts'
import { count, standardStatus } from '#apis/schema/status.ts'
import { taskFields } from './task.ts'

/** Deletions under way that a status names. */
export const MAX_BEGUN_DELETIONS = 256

const DNS_LABEL = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'

const adapter = () =>
  Type.Object(
    {
      name: Type.String({
        description: 'Under which it reports, manages fields and labels what it applies.',
        minLength: 1,
        maxLength: 56,
        ...rules({
          rule: `self.matches('${DNS_LABEL}')`,
          message: 'must be a name in lower case letters, digits and inner hyphens, such as cl-namespace',
        }),
      }),
      version: Type.Optional(
        Type.String({ description: 'Of the task; templates know it as {{ .adapter.version }}.', maxLength: 63 }),
      ),
    },
    { description: 'The adapter that does the task.' },
  )

const hyperfleetAPI = () =>
  Type.Object(
    {
      url: httpUrl({ description: 'HyperFleet API base URL' }),
      timeout: duration({ description: 'How long one request to the HyperFleet API may take.', default: '10s' }),
      tokenPath: Type.Optional(
        Type.String({
          description:
            'A file with the bearer token for the API, read for every request, in --adapter-files. Not needed for the API of the manager’s --hyperfleet-api-url, which gets a token anyway.',
          maxLength: 512,
          ...rules({
            rule: "self.startsWith('/') && !self.contains('..')",
            message: 'must be an absolute path without .., such as /var/run/secrets/hyperfleet/token',
          }),
        }),
      ),
    },
    { description: 'How the HyperFleet API is reached.' },
  )

const events = () =>
  Type.Object(
    {
      transport: Type.Enum(['api', 'nats'], {
        description: 'Whether events come from the queue of the API or from NATS JetStream.',
        default: 'api',
      }),
      url: Type.Optional(
        Type.String({
          description: 'The NATS server, for the transport nats; one that --adapter-nats-servers of the manager lists.',
          maxLength: 2048,
          ...rules({
            rule: "(self.startsWith('nats://') || self.startsWith('tls://')) && !self.contains('@')",
            message: 'must begin with nats:// or tls:// and carry no credentials, such as nats://nats:4222',
          }),
        }),
      ),
      consumer: Type.Optional(
        Type.String({
          description:
            'The consumer group. Tasks with the same one share its events. Default: one of this object alone, <namespace>-<name>-<hash of both>.',
          maxLength: 63,
          ...rules({
            rule: `self.matches('${DNS_LABEL}')`,
            message: 'must be lower case letters, digits and inner hyphens, such as cl-namespace',
          }),
        }),
      ),
      maxConcurrent: Type.Integer({
        description: 'For how many resources the task runs at the same time.',
        minimum: 1,
        maximum: 256,
        default: 16,
      }),
      visibility: duration({
        description: 'After how long an event that is not finished is given to another worker.',
        default: '30s',
      }),
    },
    {
      description: 'Where events come from and how they are taken.',
      default: { transport: 'api', maxConcurrent: 16, visibility: '30s' },
      ...rules(
        {
          rule: "self.transport != 'nats' || has(self.url)",
          message: 'url must name the server when transport is nats',
        },
        { rule: "self.transport == 'nats' || !has(self.url)", message: 'url is for the transport nats: leave it out' },
      ),
    },
  )

const taskRef = () =>
  Type.Object(
    {
      name: Type.String({
        description:
          'A ConfigMap in the same namespace, whose label muster.dev/task-account names the ServiceAccount of the task.',
        minLength: 1,
        maxLength: 253,
      }),
      key: Type.String({
        description: 'Its key that holds the task file; other keys are the files that it refers to.',
        minLength: 1,
        maxLength: 253,
        default: 'task-config.yaml',
      }),
    },
    { description: 'A task file in a ConfigMap, instead of the task in this object.' },
  )

const retained = (description: string) => Type.Optional(Type.Enum(['Delete', 'Keep'], { description }))

const retention = () =>
  Type.Optional(
    Type.Object(
      {
        whenResourceGone: retained(
          'When the API no longer has the resource, also after a force-delete. Default: Delete.',
        ),
        whenUnselected: retained('When the resource gets labels that the selector does not select. Default: Delete.'),
        whenTaskDeleted: retained('When this AdapterTask is deleted. Default: Keep.'),
      },
      { description: 'Treatment of applied objects that no deletion of their HyperFleet resource takes away.' },
    ),
  )

const INLINE = ['params', 'preconditions', 'when_deleting', 'resources', 'post']

export const adapterTaskSpec = () =>
  Type.Object(
    {
      adapter: adapter(),
      resourceType: Type.String({
        description: 'HyperFleet resource type that is worked on (clusters, nodepools, etc.)',
        maxLength: 63,
        ...rules({
          rule: "self.matches('^[a-z][a-z0-9]*(-[a-z0-9]+)*$')",
          message: 'must be the plural under which the API serves the type, in lower case: clusters, nodepools, …',
        }),
      }),
      selector: Type.Optional(
        labelSelector({ description: 'Only resources with these labels. Absent or empty, it selects every resource.' }),
      ),
      hyperfleetAPI: hyperfleetAPI(),
      events: events(),
      serviceAccountName: Type.String({
        description:
          'The ServiceAccount in whose name resources are applied, read and deleted: the task may do what it may do. It is one of the namespace that --adapter-accounts-namespace of the manager names, hyperfleet-tasks as delivered; of this namespace without that flag.',
        minLength: 1,
        maxLength: 253,
        default: 'default',
      }),
      suspend: Type.Boolean({ description: 'No run begins while this is true; events wait.', default: false }),
      retention: retention(),
      taskRef: Type.Optional(taskRef()),
      ...taskFields(),
    },
    {
      description: 'Work for each resource.',
      ...rules({
        rule: `has(self.taskRef) != (${INLINE.map((field) => `has(self.${field})`).join(' || ')})`,
        message: `must hold either taskRef or the task itself: ${INLINE.join(', ')}`,
      }),
    },
  )

const lastRuns = () =>
  Type.Array(
    Type.Object(
      {
        resource: Type.String({ description: 'Id of the HyperFleet resource.' }),
        time: Type.String({ description: 'When it began.', format: 'date-time' }),
        status: Type.Enum(['success', 'failed', 'skipped'], { description: 'Result of the run.' }),
        mode: Type.Optional(Type.Enum(['apply', 'delete'], { description: 'Absent when the run did not get so far.' })),
        message: Type.Optional(Type.String({ description: 'Why it failed or was skipped.' })),
      },
      { description: 'How one run ended.' },
    ),
    {
      description: 'The last runs, the newest first. All that the manager keeps: GET /adapter/runs.',
      maxItems: 5,
      'x-kubernetes-list-type': 'atomic',
    },
  )

export const adapterTaskStatus = () =>
  Type.Object(
    {
      ...standardStatus(),
      processed: count({ description: 'Runs that ended since the manager began with this object.' }),
      failed: count({ description: 'Runs that ended with a failure.' }),
      skipped: count({ description: 'Runs whose preconditions were not met.' }),
      inFlight: count({ description: 'Runs that are under way.' }),
      failing: count({ description: 'Resources whose last run failed.' }),
      deleting: count({ description: 'Resources that are being deleted and still have something left.' }),
      stuck: count({ description: 'Resources whose deletion waits for longer than five minutes.' }),
      deadLetters: count({ description: 'Messages that were no event of ours.' }),
      recentDeletions: Type.Optional(
        Type.String({
          description:
            'For how many resources objects were deleted of late though the HyperFleet API never said that these are to be deleted, by the minute: the count of the brake, for the process that comes next.',
          maxLength: 1_024,
        }),
      ),
      begunDeletions: Type.Optional(
        Type.Array(
          Type.Object(
            {
              inventory: Type.String({ description: 'Uid of its AdapterInventory.', maxLength: 64 }),
              time: Type.String({ description: 'When it was let through.', format: 'date-time' }),
            },
            { description: 'A resource whose objects are being deleted.' },
          ),
          {
            description:
              'Of the resources that recentDeletions counts, those of which something may be left: the process that comes next does not count them anew.',
            maxItems: MAX_BEGUN_DELETIONS,
          },
        ),
      ),
      lastRuns: Type.Optional(lastRuns()),
      lastError: Type.Optional(
        Type.String({ description: 'Error of the last run that failed; absent once none fails.' }),
      ),
    },
    { description: 'Observed state of the task.' },
  )

export type AdapterTaskSpec = Static<ReturnType<typeof adapterTaskSpec>>
export type AdapterTaskStatus = Static<ReturnType<typeof adapterTaskStatus>>
