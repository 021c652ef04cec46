import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import type { KubeObject } from '#operator/model/resource.ts'
import type { KindName, Objects, Part, Shipped } from './model.ts'
import { KINDS } from './observe.ts'

/**
 * The manifests that a cluster is compared with, from the repository's root: admission policies, network policies, rights, Argo CD's
 * projects. The base and the parts that an install may have besides.
 */
export const REFERENCE_FILES = [
  'kustomize/base/{policies,rbac,network}/*.yaml',
  'kustomize/base/api/networkpolicy.yaml',
  'kustomize/components/*/{rbac,policy,claimed-clusters}.yaml',
  'kustomize/providers/*/{rights,beside,policy}.yaml',
  'kustomize/argocd/projects.yaml',
] as const

/** Where the bundle has them, beside itself. */
export const REFERENCE_FOLDER = 'reference'

const root = () =>
  globalThis.MUSTER_BUILD === undefined
    ? join(import.meta.dirname, '../..')
    : join(import.meta.dirname, REFERENCE_FOLDER)

const BASE = 'kustomize/base'

const folderOf = (path: string): string => (path.startsWith(`${BASE}/`) ? BASE : path.replace(/\/[^/]*$/, ''))

/** What this release ships, by the folder it is in. */
export const readShipped = (): Shipped => {
  const folder = root()
  const paths = globSync([...REFERENCE_FILES], { cwd: folder }).filter((path) => !path.endsWith('kustomization.yaml'))
  const [base, ...others] = Map.groupBy(paths, folderOf)
    .entries()
    .map(([name, files]) => ({ folder: name, objects: objectsIn(files.map((file) => join(folder, file))) }))
    .toArray()
    .toSorted((left, right) => Number(right.folder === BASE) - Number(left.folder === BASE))
  if (base?.folder !== BASE) throw new Error(`${folder} has no ${BASE}`)
  return [base, ...others]
}

const objectsIn = (files: readonly string[]): Part['objects'] => {
  const all = files.flatMap((file) => loadAll(readFileSync(file, 'utf8')) as KubeObject[])
  return Object.fromEntries(
    (Object.keys(KINDS) as KindName[]).map((kind) => [kind, all.filter((object) => object.kind === kind)]),
  ) as unknown as Objects
}
