import { Ajv, type ValidateFunction } from 'ajv'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { formatPreview, hasProblems, type Preview, previewDeployment } from '#controllers/fleet/preview.ts'
import { ControlError } from '#controllers/fleet/rollout/annotations.ts'
import { WindowError } from '#controllers/fleet/rollout/maintenance-windows.ts'
import { ExpressionError } from '#controllers/fleet/selection/expression.ts'
import { WorkloadError } from '#controllers/fleet/workload/rendering.ts'
import { isObject } from '#lib/json/is-object.ts'
import { apiVersionOf, type KubeObject } from '#operator/model/resource.ts'
import { SelectorError } from '#operator/model/selector.ts'
import { schemaOf } from '../crds/crds.ts'
import { UsageError } from '../failure.ts'
import { readDocuments } from '../input.ts'

/** What is wrong with what a person wrote. */
const FAULTS = [SelectorError, ExpressionError, WorkloadError, WindowError, ControlError]

/**
 * The preview of one Deployment over the Devices of several files; `-` is standard input.
 * @throws UsageError for a file that can't be read, or that holds something that the operator would refuse
 */
export const previewFiles = async (
  deploymentFile: string,
  deviceFiles: readonly string[],
  output: 'text' | 'json',
  now: Date,
): Promise<{ readonly text: string; readonly isTroubled: boolean }> => {
  const deployments = await objectsIn<Deployment>('--deployment', deploymentFile, Deployment)
  const [deployment] = deployments
  if (deployment === undefined || deployments.length > 1)
    throw new UsageError(
      `--deployment: ${deploymentFile} holds ${deployments.length} Deployments of the fleet: name a file with one`,
    )
  const devices: Device[] = []
  for (const file of deviceFiles) devices.push(...(await objectsIn<Device>('--devices', file, Device)))
  const shown = previewOf(deploymentFile, deployment, devices, now)
  return {
    text:
      output === 'json'
        ? `${JSON.stringify(shown, undefined, 2)}\n`
        : formatPreview(shown, deployment.spec.score.templated === true),
    isTroubled: hasProblems(shown),
  }
}

const previewOf = (file: string, deployment: Deployment, devices: readonly Device[], now: Date): Preview => {
  try {
    return previewDeployment(deployment, devices, now)
  } catch (error) {
    if (!FAULTS.some((fault) => error instanceof fault)) throw error
    throw new UsageError(`--deployment: ${file}: ${(error as Error).message}`, { cause: error })
  }
}

/** The objects of one kind in a file, or in the List that kubectl prints, with the defaults that the API server would fill in. */
const objectsIn = async <O extends KubeObject>(
  flag: string,
  file: string,
  { kind, ...resource }: typeof Deployment | typeof Device,
): Promise<O[]> => {
  const apiVersion = apiVersionOf(resource)
  const fits = filling(kind)
  return (await readDocuments(flag, file))
    .flatMap((document) =>
      isObject(document) && Array.isArray(document.items) ? (document.items as unknown[]) : [document],
    )
    .map((found, position) => {
      const where = `${flag}: ${file}, object ${position + 1}`
      if (!isObject(found) || found.kind !== kind || found.apiVersion !== apiVersion)
        throw new UsageError(`${where} is no ${kind} of ${apiVersion}`)
      const metadata = isObject(found.metadata) ? found.metadata : {}
      if (typeof metadata.name !== 'string' || metadata.name === '')
        throw new UsageError(`${where} has no metadata.name`)
      // What the API server gives an object when it is made; a file need not have it.
      const provided = { uid: '', resourceVersion: '', ...(kind === Deployment.kind && { namespace: 'default' }) }
      const filled = { spec: {}, ...structuredClone(found), metadata: { ...provided, ...metadata } }
      if (fits(filled)) return filled as unknown as O
      const [problem] = fits.errors ?? []
      throw new UsageError(
        `${where}: ${problem?.instancePath.slice(1).replaceAll('/', '.')} ${problem?.message ?? 'is refused'}`,
      )
    })
}

/** Checks an object of a kind by the schema that the API server has, and fills in the same defaults. */
const filling = (kind: string): ValidateFunction =>
  new Ajv({ strict: false, useDefaults: true, validateFormats: false }).compile(schemaOf(kind))
