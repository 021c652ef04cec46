/** How a kind cluster stands, to be read when a test on it has failed. */
import { type ApplicationStatus, ARGO_NAMESPACE } from '../../argocd.ts'
import type { KindNodes } from './cluster.ts'

interface Named<Status> {
  readonly metadata: { readonly name: string }
  readonly status?: Status
}

interface PodStatus {
  readonly phase: string
  readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  readonly containerStatuses?: readonly { readonly restartCount: number }[]
}

/** Of the log of each container. */
const LINES = '--tail=40'

/** Of the events, the newest. */
const EVENTS = 60

/** How kubectl prints what controllers say. */
const CONDITIONS =
  '--output=jsonpath={range .items[*]}{.kind}/{.metadata.name}{"\\n"}{range .status.conditions[*]}  {.type}={.status} {.reason}: {.message}{"\\n"}{end}{end}'

/** What is not as it should be, of an Application. */
const applicationState = ({ metadata, status = {} }: Named<ApplicationStatus>): readonly string[] => {
  const { sync, health, operationState, conditions = [], resources = [] } = status
  return [
    `${metadata.name}: ${sync?.status} on ${sync?.revision}, ${health?.status} ${health?.message ?? ''}`,
    `  the sync is ${operationState?.phase}: ${operationState?.message}`,
    ...(operationState?.syncResult?.resources ?? []).flatMap(({ kind, name, status: did, hookPhase, message }) =>
      did === 'Synced' && hookPhase !== 'Failed'
        ? []
        : [`  ${kind}/${name}: ${did} ${hookPhase ?? ''} ${message ?? ''}`],
    ),
    ...conditions.map(({ type, message }) => `  ${type}: ${message}`),
    ...resources.flatMap((one) =>
      one.status === 'Synced' && (one.health?.status ?? 'Healthy') === 'Healthy'
        ? []
        : [`  ${one.kind}/${one.name}: ${one.status} ${one.health?.status ?? ''} ${one.health?.message ?? ''}`],
    ),
  ]
}

const isTroubled = ({ status }: Named<PodStatus>): boolean =>
  status !== undefined &&
  status.phase !== 'Succeeded' &&
  (!status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ||
    status.containerStatuses?.some(({ restartCount }) => restartCount > 0) === true)

/**
 * Argo CD's Applications, and of a namespace workloads, pods, our objects and events, with the logs of all that runs, and more of those
 * pods that are not ready or were started again. What can't be read is told in its place.
 */
export const stateOf = async ({ cluster }: Pick<KindNodes, 'cluster'>, namespace: string): Promise<string> => {
  const attempt = async (title: string, read: () => Promise<string>): Promise<string> =>
    `--- ${title}\n${await read().catch((error: unknown) => `can't be read: ${String(error)}`)}`
  const kubectl = (...args: readonly string[]) =>
    attempt(`kubectl ${args.join(' ')}`, () => cluster.kubectl(...args, `--namespace=${namespace}`))
  const list = async <Status>(path: string) =>
    (await cluster.rest<{ readonly items: readonly Named<Status>[] }>('GET', path)).items

  const applications = await attempt('Applications', async () => {
    const found = await list<ApplicationStatus>(`/apis/argoproj.io/v1alpha1/namespaces/${ARGO_NAMESPACE}/applications`)
    return found.flatMap(applicationState).join('\n')
  })
  const sections = [
    applications,
    await kubectl('get', 'deployments,statefulsets', '--output=wide'),
    await kubectl('get', 'pods', '--field-selector=status.phase!=Succeeded', '--output=wide'),
    await kubectl('get', 'muster', '--output=wide'),
    await kubectl('get', 'sentinelconfigs,adaptertasks,clusterpools', CONDITIONS),
    await kubectl(
      'logs',
      '--selector=app.kubernetes.io/part-of=muster',
      '--all-containers',
      '--prefix',
      '--tail=15',
      '--max-log-requests=50',
    ),
  ]
  const troubled = (await list<PodStatus>(`/api/v1/namespaces/${namespace}/pods`).catch(() => [])).filter(isTroubled)
  for (const { metadata } of troubled) {
    sections.push(await kubectl('describe', 'pod', metadata.name))
    sections.push(await kubectl('logs', metadata.name, '--all-containers', LINES))
    sections.push(await kubectl('logs', metadata.name, '--all-containers', '--previous', LINES))
  }
  const events = await attempt('events', async () => {
    const lines = await cluster.kubectl('get', 'events', '--sort-by=.lastTimestamp', `--namespace=${namespace}`)
    return lines.trimEnd().split('\n').slice(-EVENTS).join('\n')
  })
  return [...sections, events].join('\n')
}
