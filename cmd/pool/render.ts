import { loadAll } from 'js-yaml'
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
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { Failure, UsageError } from '../failure.ts'
import { readInput } from '../input.ts'

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
    customizations.push(...customizationsIn(await readInput('--customization', file), file))
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

const customizationsIn = (written: string, file: string): readonly Customization[] => {
  const refuse = (what: string) => new UsageError(`--customization: ${file}: ${what}`)
  let documents: readonly unknown[]
  try {
    documents = loadAll(written)
  } catch (error) {
    throw refuse(`is no YAML: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`)
  }
  const objects = documents
    .flatMap((document) => itemsOf(document as Written | null))
    .filter((object) => object !== null)
  if (objects.length === 0) throw refuse(`holds no ${ClusterDeploymentCustomization.kind}`)
  return objects.map((object, index) => {
    const { kind, metadata, spec } = object
    if (kind !== ClusterDeploymentCustomization.kind)
      throw refuse(`document ${index} is a ${String(kind)}, not a ${ClusterDeploymentCustomization.kind}`)
    const name = metadata?.name
    if (typeof name !== 'string') throw refuse(`document ${index} has no metadata.name`)
    return { name, ...patchesOf(spec, (what) => refuse(`${name}: ${what}`)) }
  })
}

const itemsOf = (document: Written | null): readonly (Written | null)[] =>
  Array.isArray(document?.items) ? (document.items as Written[]) : [document]

/** The shape of single operations is for the patches to judge. */
const patchesOf = (spec: unknown, refuse: (what: string) => UsageError): Omit<Customization, 'name'> => {
  const { installConfigPatches = [] } = (spec ?? {}) as { installConfigPatches?: unknown }
  if (!Array.isArray(installConfigPatches)) throw refuse('spec.installConfigPatches must be a list of operations')
  return { installConfigPatches }
}
