import { join } from 'node:path'
import { canonicalText } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { replaceFile } from '#lib/replace-file.ts'
import { readIfThere } from '../placement-store.ts'
import type { LocalPlacement } from '../workload-runner.ts'
import type { ObjectName } from './objects.ts'

/** What was applied, and what may have been. */
export interface AppliedObjects {
  readonly objects: readonly ObjectName[]
  /** Of the score of which all was applied, and nothing else is left; undefined while that is under way. */
  readonly digest: string | undefined
}

export const writeApplied = ({ folder }: LocalPlacement, applied: AppliedObjects): Promise<void> =>
  replaceFile(appliedFile(folder), canonicalText(applied))

/** What the placement has on its cluster. @throws Error when the file is damaged: objects that it listed would stay for ever */
export const readApplied = async ({ folder, deployment }: LocalPlacement): Promise<AppliedObjects> => {
  const file = appliedFile(folder)
  const bytes = await readIfThere(file)
  if (bytes === undefined) return { objects: [], digest: undefined }
  try {
    return JSON.parse(bytes.toString()) as AppliedObjects
  } catch (error) {
    const remedy = `remove it, and by hand what ${deployment} does not list any more`
    throw new Error(`${file} is spoilt, so it is not known what was applied: ${remedy}`, { cause: error })
  }
}

const appliedFile = (folder: string): string => join(folder, 'applied.json')
