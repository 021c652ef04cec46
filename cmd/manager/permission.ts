/** Verbs on one resource that a controller needs; the Roles in kustomize/ grant exactly these. */
export interface Permission {
  /** '' for the core group. */
  readonly group: string
  /** Plural, with a subresource behind a slash: `sentinelconfigs/status`. */
  readonly resource: string
  readonly verbs: readonly string[]
}

/** `get, patch sentinelconfigs.hyperfleet.redhat.com/status`, for messages. */
export const describePermission = ({ group, resource, verbs }: Permission): string => {
  const [plural, subresource] = resource.split('/')
  const name = group === '' ? plural : `${plural}.${group}`
  return `${verbs.join(', ')} ${name}${subresource === undefined ? '' : `/${subresource}`}`
}
