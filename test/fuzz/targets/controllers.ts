import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import type { SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { NotAnEventError, parseEvent, parseEventText } from '#controllers/adapter/events/reconcile-event.ts'
import { EXAMPLE_TIME, EXAMPLE_VALUES } from '#controllers/adapter/language/examples.ts'
import { taskExpressions } from '#controllers/adapter/language/index.ts'
import { taskLanguages } from '#controllers/adapter/language/task-languages.ts'
import { parseKinds } from '#controllers/adapter/required/parse-kinds.ts'
import { TaskError } from '#controllers/adapter/run/task-error.ts'
import { parseQuery } from '#controllers/adapter/runs/runs-server.ts'
import { FieldPathError, parseFieldPath } from '#controllers/adapter/task/compile/field-path.ts'
import { loadTask, parseTaskFile } from '#controllers/adapter/task/load-task.ts'
import { InvalidTaskError } from '#controllers/adapter/task/task-problems.ts'
import { fieldManagerOf, parseFieldManager } from '#controllers/adapter/transports/shared-objects.ts'
import { recordOf } from '#controllers/clusterdeployment/record/record.ts'
import { withoutSecrets } from '#controllers/clusterdeployment/record/redaction.ts'
import { ControlError, parseControls } from '#controllers/fleet/rollout/annotations.ts'
import { parseRevision, RevisionError } from '#controllers/fleet/rollout/controllerrevision.ts'
import { parseWindows, WindowError } from '#controllers/fleet/rollout/maintenance-windows.ts'
import { ExpressionError } from '#controllers/fleet/selection/expression.ts'
import type { TargetSpec } from '#controllers/fleet/selection/selection.ts'
import { compileSelection } from '#controllers/fleet/selection/selection.ts'
import { compileWorkload, WorkloadError } from '#controllers/fleet/workload/rendering.ts'
import { MalformedResource, parseResource } from '#controllers/sentinel/decision/resource.ts'
import { parseSettings, SettingsError } from '#controllers/sentinel/settings.ts'
import { CelCompileError, CelEvaluationError, CelLimitError, toJson } from '#lib/cel/index.ts'
import { isObject } from '#lib/json/is-object.ts'
import { quoteValue } from '#lib/text/quote.ts'
import { DurationError } from '#operator/model/duration.ts'
import { SelectorError } from '#operator/model/selector.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { ofTexts, ofValues } from '../target.ts'
import { sameAgain } from './same-again.ts'

const LANGUAGES = taskLanguages(() => EXAMPLE_TIME)
const EXPRESSIONS = taskExpressions(['clusterId', 'cluster'], () => EXAMPLE_TIME)
const DEVICE = { name: 'edge-1', labels: { region: 'berlin', ring: 'canary' }, inventory: { cores: '4' } }

/** What authors of tasks write, and what the HyperFleet API and queues answer. */
export const ADAPTER = [
  ofTexts({
    file: 'controllers/adapter/task/load-task.ts',
    reads: ['parseTaskFile', 'loadTask'],
    corpus: 'tasks',
    refuses: [InvalidTaskError],
    read: (text) => void loadTask(parseTaskFile(text), { languages: LANGUAGES, adapter: { name: 'dns' } }),
  }),
  ofTexts({
    file: 'controllers/adapter/language/expressions.ts',
    reads: ['taskExpressions'],
    corpus: 'task-cel',
    refuses: [CelCompileError, CelEvaluationError, CelLimitError],
    read: (text) => void toJson(EXPRESSIONS.compile(text).evaluate(EXAMPLE_VALUES)),
  }),
  ofTexts({
    file: 'controllers/adapter/task/compile/field-path.ts',
    reads: ['parseFieldPath'],
    corpus: 'field-paths',
    refuses: [FieldPathError, TaskError],
    read: (text) => void parseFieldPath(text).take(EXAMPLE_VALUES.cluster, {} as never),
  }),
  ofTexts({
    file: 'controllers/adapter/transports/shared-objects.ts',
    reads: ['parseFieldManager'],
    corpus: 'field-managers',
    refuses: [],
    read(text) {
      const owner = parseFieldManager(text)
      // A longer name of an adapter is cut.
      if (owner !== undefined && text.length <= 128) sameAgain(fieldManagerOf(owner.namespace, owner.adapter), text)
    },
  }),
  ofTexts({
    file: 'controllers/adapter/events/reconcile-event.ts',
    reads: ['parseEventText'],
    corpus: 'events',
    refuses: [NotAnEventError],
    read: (text) => void parseEventText(text),
  }),
  ofValues({
    file: 'controllers/adapter/events/reconcile-event.ts',
    reads: ['parseEvent'],
    from: 'anyone',
    corpus: 'events',
    refuses: [NotAnEventError],
    read: (value) => void parseEvent(value),
  }),
  ofValues({
    file: 'controllers/adapter/required/parse-kinds.ts',
    reads: ['parseKinds'],
    from: 'anyone',
    corpus: 'kinds',
    refuses: [HyperFleetError],
    read: (value) => void parseKinds(value),
  }),
  ofTexts({
    file: 'controllers/adapter/runs/runs-server.ts',
    reads: ['parseQuery'],
    corpus: 'queries',
    refuses: [],
    read: (text) => void parseQuery(new URLSearchParams(text)),
  }),
]

/** What people write into Deployments and Devices, and what may have been written into ControllerRevisions. */
export const FLEET = [
  ofValues({
    file: 'controllers/fleet/rollout/maintenance-windows.ts',
    reads: ['parseWindows'],
    from: { kind: 'fleet.nationtech.io_deployments', field: 'spec.rollout.windows' },
    corpus: 'windows',
    refuses: [WindowError, DurationError],
    read: (value) => void parseWindows(value as Parameters<typeof parseWindows>[0], 'spec.rollout.windows'),
  }),
  ofValues({
    file: 'controllers/fleet/rollout/annotations.ts',
    reads: ['parseControls'],
    from: 'anyone',
    corpus: 'controls',
    refuses: [ControlError],
    read: (value) => void parseControls(textsOf(value)),
  }),
  ofValues({
    file: 'controllers/fleet/rollout/controllerrevision.ts',
    reads: ['parseRevision'],
    from: 'hyperfleet',
    corpus: 'revisions',
    refuses: [RevisionError],
    read(value) {
      const { metadata, ...rest } = (isObject(value) ? value : {}) as { metadata?: { ownerReferences?: unknown } }
      const owners = metadata?.ownerReferences
      if (Array.isArray(owners) && owners.every(isObject)) parseRevision({ uid: 'u' }, { metadata, ...rest } as never)
    },
  }),
  ofValues({
    file: 'controllers/fleet/workload/rendering.ts',
    reads: ['compileWorkload'],
    from: { kind: 'fleet.nationtech.io_deployments', field: 'spec.score' },
    corpus: 'scores',
    refuses: [WorkloadError],
    read: (value) => void compileWorkload(value as Score).render(DEVICE),
  }),
  ofValues({
    file: 'controllers/fleet/selection/selection.ts',
    reads: ['compileSelection', 'compileExpression'],
    from: { kind: 'fleet.nationtech.io_deployments', field: 'spec' },
    corpus: 'targets',
    refuses: [SelectorError, ExpressionError],
    read: (value) => void compileSelection(value as TargetSpec)({ ...DEVICE, taints: [], at: EXAMPLE_TIME }),
  }),
]

/** What the HyperFleet API answers, and SentinelConfigs. */
export const RECORDS = [
  ofValues({
    file: 'controllers/sentinel/settings.ts',
    reads: ['parseSettings'],
    from: { kind: 'hyperfleet.redhat.com_sentinelconfigs', field: 'spec' },
    corpus: 'sentinel',
    refuses: [SettingsError],
    read: (value) => void parseSettings(value as SentinelConfigSpec, undefined),
  }),
  ofValues({
    file: 'controllers/sentinel/decision/resource.ts',
    reads: ['parseResource'],
    from: 'anyone',
    corpus: 'resources',
    refuses: [MalformedResource],
    read: (value) => void parseResource(value),
  }),
  ofValues({
    file: 'controllers/clusterdeployment/record/record.ts',
    reads: ['recordOf'],
    from: 'hyperfleet',
    corpus: 'resources',
    refuses: [],
    read: (value) => void recordOf(value),
  }),
  ofValues({
    file: 'controllers/clusterdeployment/record/redaction.ts',
    reads: ['withoutSecrets'],
    from: 'hyperfleet',
    corpus: 'secrets',
    refuses: [],
    read: (value) => void withoutSecrets(value),
  }),
]

/** Annotations are texts. */
const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(value ?? {}).map(([key, one]) => [key, typeof one === 'string' ? one : quoteValue(one)]),
  )
