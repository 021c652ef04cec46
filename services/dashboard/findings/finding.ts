/** Something that a person should know of, why, and where to look further. Pure. */
import { type KubeObject, keyOf, type Resource } from '#operator/model/resource.ts'

/**
 * Act: it stays so until a person does something. Look: something is wrong, and may recover by itself. Wait: it takes its time.
 * In this order they are shown.
 */
export const SEVERITIES = ['Act', 'Look', 'Wait'] as const
export type Severity = (typeof SEVERITIES)[number]

export interface Finding {
  readonly severity: Severity
  readonly kind: string
  /** `namespace/name`, or what else it is about. */
  readonly subject: string
  /** Where the dashboard shows more; undefined: nowhere. */
  readonly path: string | undefined
  /** One word, as conditions have it. */
  readonly reason: string
  readonly message: string
  /** RFC 3339; undefined when that is unknown. */
  readonly since: string | undefined
  /** The line to look further with. */
  readonly kubectl: string
}

/** `kubectl describe …`, with the group, because kinds of several groups share names. */
export const describeLine = (resource: Resource, { name, namespace }: KubeObject['metadata']): string =>
  `kubectl describe ${resource.plural}.${resource.group} ${name}${namespace === undefined ? '' : ` -n ${namespace}`}`

/** What all findings about one object share. */
export const findingSubject = (resource: Resource, object: KubeObject, path: string | undefined) => ({
  kind: resource.kind,
  subject: keyOf(object.metadata),
  path,
  kubectl: describeLine(resource, object.metadata),
})

/** The gravest first; of the same gravity what is so for longest, then by name, so that the order holds still. */
export const compareFindings = (a: Finding, b: Finding): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  compare(a.since ?? '~', b.since ?? '~') ||
  compare(a.subject, b.subject) ||
  compare(a.reason, b.reason)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
