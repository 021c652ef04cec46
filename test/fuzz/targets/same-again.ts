import { isDeepStrictEqual } from 'node:util'

/** @throws Error, which no target refuses an input by, when what was read and written again is something else */
export const sameAgain = (again: unknown, first: unknown): void => {
  if (isDeepStrictEqual(again, first)) return
  throw new TypeError(`written and read again it is another: ${JSON.stringify(again)}, not ${JSON.stringify(first)}`)
}
