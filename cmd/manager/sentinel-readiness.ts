import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'

/** Why a manager with `--config` is not ready; undefined when it is: the SentinelConfig that it names must exist. SENTINEL-41. */
export const sentinelUnready = (
  name: string,
  configs: Iterable<Pick<SentinelConfig, 'metadata'>> | undefined,
): string | undefined => {
  for (const { metadata } of configs ?? []) if (metadata.name === name) return undefined
  return `there is no SentinelConfig ${name}: create it, or correct --config`
}
