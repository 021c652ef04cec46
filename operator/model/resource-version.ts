import type { KubeObject } from './resource.ts'

const DECIMAL = /^[1-9]\d*$/

/**
 * Whether a state that was seen is as new as one that was written. Kubernetes 1.35 promises that resourceVersions of one
 * kind are decimal numbers that grow (KEP-5504); anything else can only be compared for equality. Being wrong costs the
 * consistency timeout at most.
 */
export const isAtLeastAsNew = (seen: string, written: string): boolean => {
  if (seen === written) return true
  if (!DECIMAL.test(seen) || !DECIMAL.test(written)) return false
  return seen.length === written.length ? seen > written : seen.length > written.length
}

/** Whether a state came before another one. False where versions are no numbers: then it can't be told. */
export const isOlder = (seen: string, known: string): boolean => seen !== known && isAtLeastAsNew(known, seen)

/**
 * Whether an object, as the answer to a write has it, is a later state of the one that is known. The watch may be quicker than
 * the answer and have told of what came after, even that the object is gone: then the answer is no news.
 */
export const isLater = ({ metadata }: Identified, known: Identified | undefined): boolean =>
  known?.metadata.uid === metadata.uid && !isAtLeastAsNew(known.metadata.resourceVersion, metadata.resourceVersion)

type Identified = Pick<KubeObject, 'metadata'>
