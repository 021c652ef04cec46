import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load as parseYaml } from 'js-yaml'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { apiVersionOf, type KubeObject, pathOf } from '#operator/model/resource.ts'
import { moment } from '../load/moment.ts'
import type { Stage } from '../stage.ts'

const CRD = join(import.meta.dirname, '../../../manifests/crds/hyperfleet.redhat.com_sentinelconfigs.yaml')
const LOCATION = { namespace: 'default', name: 'bench' }
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
  await stage.server.request('POST', pathOf(SentinelConfig, { namespace: LOCATION.namespace }), {
    apiVersion: apiVersionOf(SentinelConfig),
    kind: SentinelConfig.kind,
    metadata: LOCATION,
    spec: { resourceType: 'clusters', backoffNotReady: NEVER, backoffReady: NEVER, hyperfleetAPI: { url } },
  })
}

/** Resolves when the Sentinel has pulsed so many resources, as its status says. */
export const untilPulsed = async (stage: Stage, count: number): Promise<void> => {
  const deadline = moment() + DEADLINE_MS
  for (;;) {
    const config = (await stage.server.request('GET', pathOf(SentinelConfig, LOCATION))) as KubeObject<
      unknown,
      { pulses?: number; lastError?: string }
    >
    const { pulses = 0, lastError } = config.status ?? {}
    if (pulses >= count) return
    if (moment() > deadline) {
      throw new Error(
        `only ${pulses} of ${count} resources were pulsed within 10 min; last error: ${lastError ?? 'none'}`,
      )
    }
    await sleep(500)
  }
}
