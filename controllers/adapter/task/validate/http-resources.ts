/** What a resource of an HTTP service must be beyond its shape: fields that mean something to Kubernetes only are no silent decoration. */
import type { HttpAllowlist } from '#lib/egress/http-allowlist.ts'
import type { RawResource } from '../raw-task.ts'
import type { Task } from '../task.ts'
import type { ProblemList } from '../task-problems.ts'

/** @param targets undefined: nothing is sent anywhere, so where to is not judged */
export const checkHttpResources = (
  { resources }: Pick<Task, 'resources'>,
  raw: readonly RawResource[],
  targets: HttpAllowlist | undefined,
  problems: ProblemList,
): void => {
  for (const [at, { transport }] of resources.entries()) {
    const written = raw[at]
    if (transport.kind !== 'http' || written === undefined) continue
    const path = `resources[${at}]`
    for (const [field, why] of kubernetesOnlyFields(written)) problems.add(`${path}.${field}`, `${why}: leave it out`)
    if (targets === undefined) continue
    if (targets.isEmpty)
      problems.add(
        `${path}.transport`,
        'is sent nowhere: start the manager with --adapter-http-targets, which lists the URLs that resources may lead to',
      )
    else
      for (const [field, template] of Object.entries({ url: transport.url, create_url: transport.createUrl })) {
        const refusal = template?.variables.length === 0 ? targets.refusal(template.text) : undefined
        if (refusal !== undefined) problems.add(`${path}.transport.http.${field}`, refusal)
      }
  }
}

/** Fields that an HTTP service can't follow, each with why. */
const kubernetesOnlyFields = (resource: RawResource): readonly (readonly [string, string])[] => {
  const { discovery, nested_discoveries = [], recreate_on_change, delete_options, lifecycle } = resource
  const policy = 'says what Kubernetes does with dependants, and an HTTP service knows no such thing'
  return [
    ...(discovery === undefined
      ? []
      : [['discovery', 'is for Kubernetes, and here the url says where it is'] as const]),
    ...(nested_discoveries.length === 0 ? [] : [['nested_discoveries', 'is for a ManifestWork'] as const]),
    ...(recreate_on_change === true
      ? [['recreate_on_change', 'goes by the generation on an object, which an HTTP service does not keep'] as const]
      : []),
    ...(delete_options?.propagation_policy === undefined
      ? []
      : [['delete_options.propagation_policy', policy] as const]),
    ...(lifecycle?.delete?.propagation_policy === undefined && lifecycle?.delete?.propagationPolicy === undefined
      ? []
      : [['lifecycle.delete.propagationPolicy', policy] as const]),
  ]
}
