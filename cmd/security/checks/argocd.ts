import { LINES } from '../lines.ts'
import { defineCheck, type GroupKind, nameOf, type Objects, type ProjectSpec, shippedOf } from '../model.ts'

/** What none of our projects for committers may have, whatever an administrator added: rights, programs, Secrets, and what writes them. */
const POWERFUL: readonly (GroupKind & { readonly why: string })[] = [
  { group: 'rbac.authorization.k8s.io', kind: '*', why: 'rights' },
  { group: '', kind: 'Secret', why: 'Secrets' },
  { group: '', kind: 'Pod', why: 'pods' },
  { group: '', kind: 'ServiceAccount', why: 'accounts' },
  { group: '', kind: 'Namespace', why: 'namespaces' },
  { group: 'apps', kind: '*', why: 'pods' },
  { group: 'batch', kind: '*', why: 'pods' },
  { group: 'admissionregistration.k8s.io', kind: '*', why: 'admission policies' },
  { group: 'networking.k8s.io', kind: 'NetworkPolicy', why: 'network policies' },
  { group: 'argoproj.io', kind: '*', why: 'objects of Argo CD' },
  { group: 'hyperfleet.redhat.com', kind: 'AdapterTask', why: 'tasks, which act as accounts' },
  { group: 'hive.openshift.io', kind: 'ClusterDeployment', why: 'clusters that a Role follows' },
]

/** Argo CD's patterns, of which `*` alone is used in practice: any other glob is taken as one that may match. */
const mayMatch = (pattern: string, value: string): boolean =>
  pattern === value || value === '*' || /[*?[{]/.test(pattern)

const overlaps = (allowed: GroupKind, powerful: GroupKind): boolean =>
  mayMatch(allowed.group, powerful.group) && mayMatch(allowed.kind, powerful.kind)

const isForbidden = (namespace: string): boolean => /[*?[{!]/.test(namespace) || /^(argocd$|kube-)/.test(namespace)

/** Without a list of namespaced kinds Argo CD allows all, without one of the others none. */
const listsOf = ({
  clusterResourceWhitelist = [],
  namespaceResourceWhitelist = [{ group: '*', kind: '*' }],
}: ProjectSpec) => [clusterResourceWhitelist, namespaceResourceWhitelist]

/** What a project lets in besides what it is shipped with. */
const problemsOf = (
  { spec }: Objects['AppProject'][number],
  shipped: Objects['AppProject'][number],
): readonly string[] => {
  const known = listsOf(shipped.spec).map((list) => new Set(list.map(({ group, kind }) => `${group}/${kind}`)))
  const kinds = listsOf(spec).flatMap((list, index) =>
    list
      .filter(({ group, kind }) => known[index]?.has(`${group}/${kind}`) !== true)
      .flatMap((allowed) => {
        const powers = [...new Set(POWERFUL.filter((each) => overlaps(allowed, each)).map(({ why }) => why))]
        return powers.length === 0
          ? []
          : [`it allows ${allowed.kind} of ${allowed.group || 'core'}: ${powers.join(', ')}`]
      }),
  )
  const ships = shipped.spec.destinations?.map(({ namespace }) => namespace) ?? []
  const namespaces = (spec.destinations ?? [])
    .map(({ namespace = '*' }) => namespace)
    .filter((namespace) => !ships.includes(namespace) && isForbidden(namespace))
    .map((namespace) => `it allows the namespace ${namespace}`)
  return [...kinds, ...namespaces]
}

/** Committers write Muster's kinds where they may, and nothing that gives rights. GITOPS-17, SECURITY-8. */
export const projectsCheck = defineCheck('argocd-projects', ['AppProject'], ({ AppProject: projects }, shipped) =>
  shippedOf(shipped, 'AppProject').flatMap((known) =>
    projects
      .filter(({ metadata }) => metadata.name === known.metadata.name)
      .flatMap((project) =>
        problemsOf(project, known).map((what) => ({
          line: LINES.committer,
          where: nameOf('AppProject', project.metadata),
          what,
          todo: 'take it out, or give it to a project of its own: kustomize/argocd/projects.yaml',
        })),
      ),
  ),
)
