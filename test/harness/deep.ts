/**
 * Whether this is `npm run test:deep`, which repeats and fuzzes at length. Every other run has a slice of each: docs/contributing.md lists
 * them. hack/testing/deep-tests.ts sets it.
 */
export const isDeep = process.env.MUSTER_TEST_DEEP === 'yes'

/** How often to repeat something: at length, or as a slice. */
export const repetitions = ({ deep, slice }: { readonly deep: number; readonly slice: number }): number =>
  isDeep ? deep : slice
