/** The delivered Deployments of the suite, and the processes that stand for their pods. */
import type { OwnControlPlane } from '#test/harness/index.ts'
import type { Suite, Supervised } from '#test/harness/suite.ts'
import { repeat, type Working } from './repeat.ts'

/** Which process stands for which Deployment of the delivered suite. */
const DEPLOYMENTS: Readonly<Record<string, string>> = {
  'hyperfleet-api': 'api',
  'hyperfleet-adapter': 'adapters',
  'hyperfleet-clusterpool': 'pools',
  'hyperfleet-clusterdeployment': 'clusters',
  'hyperfleet-clusterdevice': 'devices',
  'fleet-operator': 'fleet',
  'cluster-sentinel-us-west': 'sentinels',
}

interface Workload {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly replicas: number }
}

/** The delivered Deployments, whose pods kwok plays; the process that stands for each rests while it is scaled to 0. */
export const followReplicas = async (
  suite: Suite,
  cluster: OwnControlPlane,
): Promise<Working & { readonly resting: ReadonlySet<string> }> => {
  const delivered = (await suite.render('overlays/stage')).filter(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name in DEPLOYMENTS,
  )
  const names = delivered.map(({ metadata }) => metadata.name)
  const missing = Object.keys(DEPLOYMENTS).filter((name) => !names.includes(name))
  if (missing.length > 0) throw new Error(`overlays/stage has no Deployment ${missing.join(', ')}`)
  await cluster.kubectl(
    'delete',
    'deployment',
    'hyperfleet-api',
    `--namespace=${suite.namespace}`,
    '--ignore-not-found',
  )
  await suite.apply(delivered.map((manifest) => ({ ...manifest, spec: { ...manifest.spec, replicas: 1 } })))
  const secret = `--from-literal=url=${suite.postgres?.url}`
  await cluster.kubectl(
    'create',
    'secret',
    'generic',
    'hyperfleet-api-database',
    secret,
    `--namespace=${suite.namespace}`,
  )
  const resting = new Set<string>()
  const path = `/apis/apps/v1/namespaces/${suite.namespace}/deployments`
  const following = repeat(200, async () => {
    const { items } = await cluster.rest<{ items: readonly Workload[] }>('GET', path)
    const changes = items.flatMap(({ metadata, spec: { replicas } }) => {
      const name = DEPLOYMENTS[metadata.name] ?? ''
      const process = suite.processes.get(name)
      return process === undefined || (replicas === 0) === resting.has(name) ? [] : [{ name, replicas, process }]
    })
    await Promise.all(changes.map((change) => scale(change, resting)))
  })
  return { ...following, resting }
}

const scale = async (
  { name, replicas, process }: { readonly name: string; readonly replicas: number; readonly process: Supervised },
  resting: Set<string>,
): Promise<void> => {
  if (replicas > 0) {
    process.resume()
    resting.delete(name)
    return
  }
  await process.pause()
  resting.add(name)
}
