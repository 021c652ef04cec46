import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { weaknessOfTargets } from '#lib/egress/own-services.ts'
import { collectGarbage } from '#lib/process/collect-garbage.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'
import { flag, optional, toggle, type Values, weakening } from '#operator/flags/flag.ts'
import { httpPrefixes, objectName } from '#operator/flags/values.ts'
import { CALLER_REVIEWS, EVENTS, type Rights } from '#operator/rights.ts'
import type { SentinelOptions } from './options.ts'

const flags = {
  config: optional('NAME', 'the one SentinelConfig to work on (default: all of the namespace)', objectName),
  sentinelHttpTargets: weakening(
    flag(
      'URLS',
      'prefixes of the URLs of HyperFleet APIs other than that of --hyperfleet-api-url that SentinelConfigs may name, separated by commas',
      httpPrefixes,
      '',
    ),
    weaknessOfTargets,
  ),
  denyOverlap: toggle('refuse SentinelConfigs whose shards overlap, by an admission webhook'),
}

type Context = Omit<SentinelOptions, 'httpTargets' | 'collectGarbage'> &
  Pick<Values<typeof flags>, 'sentinelHttpTargets'>

const rights: Rights = {
  account: 'hyperfleet-sentinel',
  testAccount: 'hyperfleet-sentinel',
  role: 'hyperfleet-sentinel',
  kind: 'Role',
  about: 'To pulse what SentinelConfigs select, in one namespace.',
  why: {
    'sentinelconfigs/status': 'What the Sentinel sees is reported in the status.',
    leases: 'One Lease a SentinelConfig: a second replica stands by, and never are there two pulses for one decision.',
    ...EVENTS,
  },
  rare: [
    {
      group: 'hyperfleet.redhat.com',
      resource: 'sentinelconfigs/status',
      verbs: ['get'],
      reason: 'Part of what a Sentinel was promised to have; today it reads its status with the whole object.',
    },
  ],
  optional: {
    ...CALLER_REVIEWS,
    secrets: 'kustomize/components/deny-overlap/rbac.yaml',
    validatingwebhookconfigurations: 'kustomize/components/deny-overlap/rbac.yaml',
  },
  tests: ['test/integration/sentinel', 'test/integration/cmd/deny-overlap'],
}

/** The Sentinel: docs/sentinel.md. */
export const sentinelEntry = {
  name: 'sentinel',
  kinds: [SentinelConfig],
  flags,
  rights,
  load: async ({ sentinelHttpTargets: httpTargets, ...context }: Context) => {
    const { sentinel } = await import('./index.ts')
    return sentinel({ ...context, httpTargets, collectGarbage })
  },
} as const satisfies ControllerEntry<Context>
