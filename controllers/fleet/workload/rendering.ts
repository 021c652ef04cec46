/**
 * What a device is to run: the workload of a revision, its templates filled in with what the device is. Fails closed: what can't
 * be filled in is not given to that device, and to that device alone. FLEET-35. Pure.
 */

import { canonicalText, digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { MAX_VALUE_BYTES } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { findExcess } from '#lib/json/size.ts'
import type { Json } from '#lib/json-patch/json.ts'
import { compileTemplate, type Template, TemplateError } from '#lib/template/index.ts'
import { FLEET_ERRORS } from '../errors.ts'
import type { DeviceFacts } from '../selection/expression.ts'

/** A template that can't be read, whatever the device is: where, what is wrong, and what to write instead. */
export class WorkloadError extends errorOf(FLEET_ERRORS, 'WorkloadError') {
  constructor(path: string, problem: string, options?: ErrorOptions) {
    super(`${path}: ${problem}`, options)
  }
}

export type Rendered =
  | { readonly score: Score; readonly digest: string }
  /** Why it can't be filled in for this device, and where. */
  | { readonly problem: string }

export interface Workload {
  readonly isTemplated: boolean
  /** Of the workload before it was filled in. */
  readonly digest: string
  render(device: DeviceFacts): Rendered
}

/** Texts of one workload are small, and there may be ten thousand devices. */
const LIMITS = { output: 262_144, steps: 20_000, time: 1_000 }

/** A text within the workload that is a template. */
type Tree = Template | readonly Tree[] | { readonly [key: string]: Tree } | number | boolean | null | undefined

const isTemplate = (tree: Tree): tree is Template =>
  typeof tree === 'object' && tree !== null && 'render' in tree && typeof tree.render === 'function'

const childPath = (path: string, key: string): string =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`

/** @throws WorkloadError */
const compileTree = (value: unknown, path: string): Tree => {
  if (typeof value === 'string') return template(value, path)
  if (Array.isArray(value)) return value.map((one, index) => compileTree(one, `${path}[${index}]`))
  if (typeof value !== 'object' || value === null) return value as number | boolean | null | undefined
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, compileTree(one, childPath(path, key))]))
}

const template = (text: string, path: string): Template => {
  try {
    return compileTemplate(text, { names: ['device'], refusesNothing: true, limits: LIMITS })
  } catch (error) {
    throw error instanceof TemplateError ? new WorkloadError(path, error.message, { cause: error }) : error
  }
}

/** @throws WorkloadError */
const renderTree = (tree: Tree, path: string, data: Readonly<Record<string, unknown>>): unknown => {
  if (isTemplate(tree)) {
    try {
      return tree.render(data)
    } catch (error) {
      throw error instanceof TemplateError ? new WorkloadError(path, error.message, { cause: error }) : error
    }
  }
  if (Array.isArray(tree)) return tree.map((one, index) => renderTree(one, `${path}[${index}]`, data))
  if (typeof tree !== 'object' || tree === null) return tree
  return Object.fromEntries(
    Object.entries(tree).map(([key, one]) => [key, renderTree(one, childPath(path, key), data)]),
  )
}

/** Bytes of a workload: an entry of its bucket, without what stands around it and its headers, of which signatures are the largest part. */
const MAX_WORKLOAD_BYTES = MAX_VALUE_BYTES.desired - 8_192

/** Where templates stand, for messages. */
const DATA_PATH = 'spec.score.data'

/**
 * The workload of a score. A score without `templated` is for every device the same, braces or not.
 * @throws WorkloadError when a template can't be read, or it has too many levels
 */
export const compileWorkload = (score: Score): Workload => {
  const excess = findExcess([score.data as unknown as Json])
  if (excess !== undefined) throw new WorkloadError(DATA_PATH, `it has ${excess}`)
  const digest = digestOf(score)
  if (score.templated !== true) return { isTemplated: false, digest, render: () => ({ score, digest }) }
  const data = compileTree(score.data, DATA_PATH)
  return {
    isTemplated: true,
    digest,
    render({ name, labels, inventory }) {
      try {
        // Agents get what is to run; that it was a template is nothing to them.
        const rendered = {
          type: score.type,
          data: renderTree(data, DATA_PATH, { device: { name, labels, inventory } }) as Score['data'],
        }
        const size = Buffer.byteLength(canonicalText(rendered))
        if (size > MAX_WORKLOAD_BYTES)
          return {
            problem: `${DATA_PATH}: it has ${size} bytes when it is filled in, at most ${MAX_WORKLOAD_BYTES} are allowed`,
          }
        return { score: rendered, digest: digestOf(rendered) }
      } catch (error) {
        if (error instanceof WorkloadError) return { problem: error.message }
        throw error
      }
    },
  }
}
