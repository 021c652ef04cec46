/** Verbs on one resource that a controller needs; the Roles in kustomize/ grant exactly these. */
export interface Permission {
  /** '' for the core group. */
  readonly group: string
  /** Plural, with a subresource behind a slash: `sentinelconfigs/status`. */
  readonly resource: string
  readonly verbs: readonly string[]
  /** Only on the object of this name. */
  readonly name?: string
  /** Default: the namespace that is watched. Home is the one that this process keeps its Lease in, TaskAccounts that of the accounts that tasks act as. */
  readonly scope?: 'Cluster' | 'Home' | 'TaskAccounts'
}

/** `get, patch sentinelconfigs.hyperfleet.redhat.com/status`, for messages. */
export const describePermission = ({ group, resource, verbs, name }: Permission): string => {
  const [plural, subresource] = resource.split('/')
  const kind = `${group === '' ? plural : `${plural}.${group}`}${subresource === undefined ? '' : `/${subresource}`}`
  return `${verbs.join(', ')} ${kind}${name === undefined ? '' : ` ${name}`}`
}

/** The same permissions with each resource named once: controllers share some of them. */
export const merged = (permissions: readonly Permission[]): readonly Permission[] => {
  const byResource = Map.groupBy(permissions, ({ group, resource, name, scope }) =>
    JSON.stringify([group, resource, name, scope]),
  )
  return [...byResource.values()].flatMap((same) => {
    const [first] = same
    return first === undefined ? [] : [{ ...first, verbs: [...new Set(same.flatMap(({ verbs }) => verbs))] }]
  })
}
