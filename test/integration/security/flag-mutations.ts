/** Flags that weaken an install, each of which `muster security check` has to report. */
import type { Any, Mutation } from './mutation.ts'

const FLAGS: readonly (readonly [deployment: string, check: string, value: string])[] = [
  ['hyperfleet-api', 'allow-unauthenticated', 'true'],
  ['hyperfleet-api', 'auth-roles', 'group:system:authenticated=adapter'],
  ['hyperfleet-api', 'auth-adapters', 'group:network=*'],
  ['hyperfleet-api', 'auth-consumers', 'group:network=*'],
  ['hyperfleet-api', 'rate-limit', '0'],
  ['hyperfleet-api', 'max-in-flight', '0'],
  ['hyperfleet-api', 'max-streams', '0'],
  ['hyperfleet-adapter', 'adapter-http-targets', 'https://kubernetes.default.svc'],
  ['hyperfleet-adapter', 'adapter-env', 'REGION,MUSTER_DATABASE_URL'],
  ['hyperfleet-sentinel', 'sentinel-http-targets', 'http://169.254.169.254'],
]

export const FLAG_MUTATIONS: readonly Mutation[] = FLAGS.map(([name, check, value]) => ({
  title: `${name} with --${check}=${value}`,
  reports: [check],
  edits: [
    {
      kind: 'Deployment',
      name,
      change: (object: Any) => {
        const changed = structuredClone(object)
        changed.spec.template.spec.containers[0].args.push(`--${check}=${value}`)
        return changed
      },
    },
  ],
}))
