import {
  type Customization,
  CustomizationError,
  customizeInstallConfig,
} from '#apis/hive.openshift.io/model/customization.ts'
import {
  InstallConfigError,
  parseInstallConfig,
  printInstallConfig,
} from '#apis/hive.openshift.io/model/install-config.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { isObject } from '#lib/json/is-object.ts'
import { Failure, UsageError } from '../failure.ts'
import { readDocuments, readInput } from '../input.ts'
import { hasSpecField, unknownSpecFields } from '../unknown-fields.ts'

export interface Rendered {
  /** One install-config a customization, YAML. */
  readonly documents: readonly string[]
  /** What the authors of the customizations should know. */
  readonly notices: readonly string[]
}

/**
 * The install-configs that customizations make of one.
 * @param installConfigFile A file, or `-` for standard input.
 * @param customizationFiles Files with one customization or more each, or lists of them as kubectl prints them.
 * @throws UsageError for files that hold something else, Failure naming the operation that can't be applied
 */
export const render = async (installConfigFile: string, customizationFiles: readonly string[]): Promise<Rendered> => {
  const installConfig = parse(await readInput('--install-config', installConfigFile), installConfigFile)
  const customizations: Customization[] = []
  for (const file of customizationFiles)
    customizations.push(...customizationsIn(await readDocuments('--customization', file), file))
  try {
    const rendered = customizations.map((customization) => customizeInstallConfig(installConfig, [customization]))
    return {
      documents: rendered.map(({ document }) => printInstallConfig(document)),
      notices: rendered.flatMap(({ notices }) => notices),
    }
  } catch (error) {
    if (error instanceof CustomizationError) throw new Failure(error.message, { cause: error })
    throw error
  }
}

const parse = (written: string, file: string) => {
  try {
    return parseInstallConfig(written)
  } catch (error) {
    if (error instanceof InstallConfigError)
      throw new UsageError(`--install-config: ${file}: ${error.message}`, { cause: error })
    throw error
  }
}

/** What may stand in a customization file; nothing about it is known yet. */
interface Written {
  readonly kind?: unknown
  readonly items?: unknown
  readonly metadata?: { readonly name?: unknown }
  readonly spec?: unknown
}

const customizationsIn = (documents: readonly unknown[], file: string): readonly Customization[] => {
  const refuse = (what: string) => new UsageError(`--customization: ${file}: ${what}`)
  const objects = documents
    .flatMap((document) => itemsOf(document as Written | null))
    .filter((object) => object !== null)
  if (objects.length === 0) throw refuse(`holds no ${ClusterDeploymentCustomization.kind}`)
  return objects.map((object, index) => {
    const { kind, metadata, spec } = object
    if (kind !== ClusterDeploymentCustomization.kind)
      throw refuse(
        `object ${index + 1} is no ${ClusterDeploymentCustomization.kind}${typeof kind === 'string' ? `, it is a ${kind}` : ''}`,
      )
    const name = metadata?.name
    if (typeof name !== 'string') throw refuse(`object ${index + 1} has no metadata.name`)
    return { name, ...patchesOf(spec, (what) => refuse(`${name}: ${what}`)) }
  })
}

const itemsOf = (document: Written | null): readonly (Written | null)[] =>
  Array.isArray(document?.items) ? (document.items as Written[]) : [document]

/**
 * The shape of single operations is for the patches to judge; what the API server would drop is judged here: a customization without it
 * would be Applied, and change nothing (GITOPS-58).
 */
const patchesOf = (spec: unknown, refuse: (what: string) => UsageError): Omit<Customization, 'name'> => {
  const { installConfigPatches = [], clusterDeploymentSpecPatches = [] } = (spec ?? {}) as Record<string, unknown>
  if (!Array.isArray(installConfigPatches)) throw refuse('spec.installConfigPatches must be a list of operations')
  const [unknown] = unknownSpecFields(ClusterDeploymentCustomization.kind, spec)
  if (unknown !== undefined) throw refuse(`${unknown}: a ${ClusterDeploymentCustomization.kind} has no such field`)
  for (const [at, operation] of [clusterDeploymentSpecPatches].flat().entries()) {
    const path = isObject(operation) ? operation.path : undefined
    if (typeof path === 'string' && !hasSpecField(ClusterDeployment.kind, tokensOf(path)))
      throw refuse(
        `clusterDeploymentSpecPatches: operation ${at} (${path}): the spec of a ${ClusterDeployment.kind} has no such field`,
      )
  }
  return { installConfigPatches }
}

/** Of a JSON Pointer, also without the slash at its beginning, which is taken as well. RFC 6901. */
const tokensOf = (path: string): readonly string[] =>
  path
    .replace(/^\//, '')
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
