import { each, type Manifest, type Rule } from './manifest.ts'

/** A CustomResourceDefinition as far as the rules look into it. */
interface Kind {
  readonly group: string
  readonly names: { readonly kind: string; readonly plural: string }
  readonly versions: readonly Version[]
}

interface Version {
  readonly name: string
  readonly additionalPrinterColumns?: readonly { readonly name: string; readonly priority?: number }[]
  readonly subresources?: { readonly status?: object }
  readonly schema: {
    readonly openAPIV3Schema: {
      readonly properties?: {
        readonly status?: { readonly properties?: Readonly<Record<string, Field | undefined>> }
      }
    }
  }
}

interface Field {
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
}

const inKinds = (problems: (kind: Kind, objects: readonly Manifest[]) => readonly string[]): Rule => {
  return (objects) => each(['CustomResourceDefinition'], ({ spec }) => problems(spec as Kind, objects))(objects)
}

/** Records that a controller keeps for itself. People read them; they declare nothing and have no state of their own. */
const isRecord = ({ names }: Kind): boolean => names.kind === 'AdapterInventory'

const inVersions = (problem: (version: Version, kind: Kind) => string | undefined): Rule =>
  inKinds((kind) =>
    kind.versions.flatMap((version) => {
      const found = problem(version, kind)
      return found === undefined ? [] : [`${version.name}: ${found}`]
    }),
  )

/** kubectl get says more than names. */
export const shownInColumns: Rule = inVersions(({ additionalPrinterColumns = [] }) => {
  // Others come behind them with -o wide, as those of pods do.
  const names = additionalPrinterColumns.filter(({ priority = 0 }) => priority === 0).map(({ name }) => name)
  return names.length > 2 && names.at(-1) === 'Age' ? undefined : 'give it columns that say how it is, and Age last'
})

/** kstatus and Argo CD read these two; and status is written apart, with a right of its own. */
export const tellsItsState: Rule = inVersions(({ schema, subresources }, kind) => {
  if (isRecord(kind)) return undefined
  if (subresources?.status === undefined) return 'make status a subresource'
  const { observedGeneration, conditions } = schema.openAPIV3Schema.properties?.status?.properties ?? {}
  if (observedGeneration === undefined) return 'give its status observedGeneration'
  return conditions?.['x-kubernetes-list-map-keys']?.join() === 'type' ? undefined : 'make its conditions a map by type'
})

const isSample =
  ({ group, names }: Kind) =>
  ({ apiVersion, kind }: Manifest): boolean =>
    kind === names.kind && apiVersion.startsWith(`${group}/`)

/** No user has to begin with an empty file. */
export const hasASample: Rule = inKinds((kind, objects) =>
  isRecord(kind) || objects.some(isSample(kind)) ? [] : ['put an example into kustomize/samples'],
)

interface Role {
  readonly rules?: readonly { readonly apiGroups: readonly string[]; readonly resources: readonly string[] }[]
}

/** The roles that Kubernetes' own `view` or `edit` takes in. */
const rolesFor = (objects: readonly Manifest[], whom: 'view' | 'edit'): readonly Role[] =>
  objects
    .filter(({ metadata }) => metadata.labels?.[`rbac.authorization.k8s.io/aggregate-to-${whom}`] === 'true')
    .map((object) => object as Manifest & Role)

const covers = (roles: readonly Role[], group: string, resource: string): boolean =>
  roles.some(({ rules = [] }) =>
    rules.some(({ apiGroups, resources }) => apiGroups.includes(group) && resources.includes(resource)),
  )

/**
 * A user that may look into a namespace, or change what is in it, may do so with our kinds: but for records, and for what runs programs on
 * devices, which takes a role that an administrator binds (GITOPS-16).
 */
export const hasRolesForPeople: Rule = inKinds((kind, objects) => {
  const { group, names } = kind
  const { plural } = names
  const [viewers, editors] = [rolesFor(objects, 'view'), rolesFor(objects, 'edit')]
  const isForEditors = !isRecord(kind) && group !== 'fleet.nationtech.io'
  return [
    ...(covers(viewers, group, plural) ? [] : [`let viewers read ${plural}`]),
    ...(isRecord(kind) || covers(viewers, group, `${plural}/status`) ? [] : [`let viewers read ${plural}/status`]),
    ...(covers(editors, group, plural) === isForEditors
      ? []
      : [isForEditors ? `let editors write ${plural}` : `leave ${plural} out of what editors may write`]),
    ...(covers(editors, group, `${plural}/status`) ? [`leave ${plural}/status to its controller`] : []),
  ]
})

/** Without a health script Argo CD takes an object for healthy as soon as it is there. */
export const hasAHealthScript: Rule = inKinds(({ group, names: { kind } }, objects) => {
  const settings = objects.find(({ kind: own, metadata }) => own === 'ConfigMap' && metadata.name === 'argocd-cm')
  const data = (settings as { data?: Readonly<Record<string, string>> } | undefined)?.data ?? {}
  const key = `resource.customizations.health.${group}_${kind}`
  return data[key] === undefined ? [`give Argo CD ${key}`] : []
})
