/** What of the process's heap may go where, in bytes: a limit that ends the process would be none. */
import { getHeapStatistics } from 'node:v8'

const heap = getHeapStatistics().heap_size_limit

/**
 * Of an answer: its text, what is parsed from it and the page before it are in the heap side by side, in wide characters twice as large.
 * 64 MiB are more than a page of objects has that is read in one piece; a list of larger ones is read in smaller pages. RUNTIME-53.
 */
export const MAX_ANSWER_BYTES = Math.min(64 * 2 ** 20, Math.floor(heap / 16))

/** Of a line of a watch: several times what an object can have in etcd. RUNTIME-53. */
export const MAX_LINE_BYTES = Math.min(16 * 2 ** 20, MAX_ANSWER_BYTES)

/** Of all objects in caches: the other half is for the work on them. RUNTIME-55. */
export const MAX_CACHED_BYTES = Math.floor(heap / 2)
