/** Verbs on one resource that a controller needs; the Roles in kustomize/ grant exactly these. */
export interface Permission {
  /** '' for the core group. */
  readonly group: string
  /** Plural, with a subresource behind a slash: `sentinelconfigs/status`. */
  readonly resource: string
  readonly verbs: readonly string[]
  /** Only on the object of this name. */
  readonly name?: string
  /** Default: the namespace that is watched. */
  readonly scope?: 'Cluster'
}

/** `get, patch sentinelconfigs.hyperfleet.redhat.com/status`, for messages. */
export const describePermission = ({ group, resource, verbs, name }: Permission): string => {
  const [plural, subresource] = resource.split('/')
  const kind = `${group === '' ? plural : `${plural}.${group}`}${subresource === undefined ? '' : `/${subresource}`}`
  return `${verbs.join(', ')} ${kind}${name === undefined ? '' : ` ${name}`}`
}
