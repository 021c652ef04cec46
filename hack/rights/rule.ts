import type { Call } from './call.ts'

/** Kubernetes: rbac.authorization.k8s.io/v1 PolicyRule, as far as ours go. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** A Role or ClusterRole. */
export interface RoleManifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly PolicyRule[]
}

/** Verbs in the order in which people read them; those that stand nowhere go last, by letter. */
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

const rank = (verb: string): number => (VERBS.includes(verb) ? VERBS.indexOf(verb) : VERBS.length)

/** Each verb once, in reading order. */
export const inReadingOrder = (verbs: Iterable<string>): readonly string[] =>
  [...new Set(verbs)].toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))

/** Whether a rule allows a call. Kubernetes: RBAC; a rule with names allows nothing that names no object. */
export const allows = ({ apiGroups, resources, resourceNames = [], verbs }: PolicyRule, call: Call): boolean =>
  apiGroups.includes(call.group) &&
  resources.includes(call.resource) &&
  verbs.includes(call.verb) &&
  (resourceNames.length === 0 || (call.name !== undefined && resourceNames.includes(call.name)))

/** `patch leases.coordination.k8s.io`, `get adaptertasks.hyperfleet.redhat.com/status`: as kubectl names resources. */
export const describeRight = (verb: string, group: string, resource: string): string => {
  const [plural, subresource] = resource.split('/')
  const kind = group === '' ? plural : `${plural}.${group}`
  return `${verb} ${kind}${subresource === undefined ? '' : `/${subresource}`}`
}
