import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load as parseYaml } from 'js-yaml'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { apiVersionOf, type KubeObject, pathOf } from '#operator/model/resource.ts'
import { moment } from '../load/moment.ts'
import type { Stage } from '../stage.ts'

const CRD = join(import.meta.dirname, '../../../manifests/crds/hyperfleet.redhat.com_sentinelconfigs.yaml')
const NAMESPACE = 'default'
/** Nothing falls due by time during a bench. */
const NEVER = '12h'
const DEADLINE_MS = 600_000

/** Creates the kind SentinelConfig. */
export const installKind = async (stage: Stage): Promise<void> => {
  await stage.install(parseYaml(await readFile(CRD, 'utf8')) as object, SentinelConfig)
}

/** Creates the kind and one SentinelConfig that owns all clusters of an API and finds nothing due but news. */
export const createConfig = async (stage: Stage, url: string): Promise<void> => {
  await installKind(stage)
  await createShard(stage, url, { name: 'bench' })
}

interface Shard {
  readonly name: string
  /** All clusters without it. */
  readonly autoShard?: { readonly shards: number; readonly index: number }
}

/** Creates a SentinelConfig that finds nothing due but news. */
export const createShard = async (stage: Stage, url: string, { name, autoShard }: Shard): Promise<void> => {
  await stage.server.request('POST', pathOf(SentinelConfig, { namespace: NAMESPACE }), {
    apiVersion: apiVersionOf(SentinelConfig),
    kind: SentinelConfig.kind,
    metadata: { name },
    spec: { resourceType: 'clusters', backoffNotReady: NEVER, backoffReady: NEVER, hyperfleetAPI: { url }, autoShard },
  })
}

/** Resolves when the Sentinels have pulsed so many resources together, as their statuses say. */
export const untilPulsed = async (stage: Stage, count: number): Promise<void> => {
  const deadline = moment() + DEADLINE_MS
  for (;;) {
    const { pulses, lastError } = sumOf(await configs(stage))
    if (pulses >= count) return
    if (moment() > deadline) {
      throw new Error(
        `only ${pulses} of ${count} resources were pulsed within 10 min; last error: ${lastError ?? 'none'}`,
      )
    }
    await sleep(500)
  }
}

/** How often the Sentinels have pulsed together, as their statuses say. */
export const pulsesOf = async (stage: Stage): Promise<number> => sumOf(await configs(stage)).pulses

type Config = KubeObject<unknown, { pulses?: number; lastError?: string }>

const configs = async ({ server }: Stage): Promise<readonly Config[]> => {
  const list = await server.request('GET', pathOf(SentinelConfig, { namespace: NAMESPACE }))
  return (list as { readonly items: readonly Config[] }).items
}

const sumOf = (all: readonly Config[]): { readonly pulses: number; readonly lastError: string | undefined } => ({
  pulses: all.reduce((sum, { status }) => sum + (status?.pulses ?? 0), 0),
  lastError: all.map(({ status }) => status?.lastError).find((error) => error !== undefined),
})
