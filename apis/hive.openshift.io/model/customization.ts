/** What a ClusterDeploymentCustomization changes, applied in memory: POOL-4, POOL-44. */

import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { isObject } from '#lib/json/is-object.ts'
import { applyPatches, readPatches } from '#lib/json-patch/apply.ts'
import type { Json } from '#lib/json-patch/json.ts'
import { PatchError } from '#lib/json-patch/operation.ts'
import { APIS_ERRORS } from '../../errors.ts'
import type { Patch } from '../v1/patch.ts'
import type { InstallConfig } from './install-config.ts'

/** A customization as far as it decides about a cluster. */
export interface Customization {
  readonly name: string
  readonly installConfigPatches?: readonly Patch[]
  readonly clusterDeploymentSpecPatches?: readonly Patch[]
}

/** A customization that can't be applied; its entry becomes BrokenByConfiguration with this message. */
export class CustomizationError extends errorOf(APIS_ERRORS, 'CustomizationError') {}

/** A document after customizations, and what their authors should know. */
export interface Customized<Document> {
  readonly document: Document
  readonly notices: readonly string[]
}

/** The install-config after the customizations, in their order. @throws CustomizationError naming the operation that fails */
export const customizeInstallConfig = (
  config: InstallConfig,
  customizations: readonly Customization[],
): Customized<InstallConfig> => applyCustomizations(config, customizations, 'installConfigPatches')

/** The spec of the ClusterDeployment after the customizations, in their order. @throws CustomizationError */
export const customizeSpec = <Spec extends object>(
  spec: Spec,
  customizations: readonly Customization[],
): Customized<Spec> => {
  const { document, notices } = applyCustomizations(
    spec as InstallConfig,
    customizations,
    'clusterDeploymentSpecPatches',
  )
  return { document: document as Spec, notices }
}

const FIELDS = ['installConfigPatches', 'clusterDeploymentSpecPatches'] as const
type Field = (typeof FIELDS)[number]

/** Reads the patches without a document: what can be known of them whichever pool lists them. @throws CustomizationError */
export const validateCustomization = (customization: Customization): void => {
  for (const field of FIELDS)
    withPatchLocation(customization, field, () => readPatches(readPatchField(customization, field)))
}

const applyCustomizations = (
  document: InstallConfig,
  customizations: readonly Customization[],
  field: Field,
): Customized<InstallConfig> => {
  let customized: Json = document
  const notices: string[] = []
  for (const customization of customizations) {
    const patched = applyPatchField(customized, customization, field)
    customized = patched.document
    notices.push(...patched.notices.map((notice) => `${customization.name}: ${field}: ${notice}`))
  }
  if (!isObject(customized)) throw new CustomizationError(`${field}: what is left is no object`)
  return { document: customized, notices }
}

const applyPatchField = (document: Json, customization: Customization, field: Field) =>
  withPatchLocation(customization, field, () => applyPatches(document, readPatchField(customization, field)))

const readPatchField = (customization: Customization, field: Field): readonly object[] =>
  (customization[field] ?? []).map(decodeValueJson)

/** An error of the work says where the operation stands. */
const withPatchLocation = <Result>(customization: Customization, field: Field, work: () => Result): Result => {
  try {
    return work()
  } catch (error) {
    if (error instanceof PatchError)
      throw new CustomizationError(`${customization.name}: ${field}: ${error.message}`, { cause: error })
    throw error
  }
}

/** Hive writes a value as JSON text; it wins over `value` there, so it does here. */
const decodeValueJson = ({ valueJSON, ...operation }: Patch, index: number): object => {
  if (valueJSON === undefined || valueJSON === '') return operation
  try {
    return { ...operation, value: JSON.parse(valueJSON) as Json }
  } catch (error) {
    throw new PatchError(index, `${operation.op} ${operation.path}`, `valueJSON is no JSON: ${messageOf(error)}`)
  }
}
