const DECIMAL = /^[1-9]\d*$/

/**
 * Whether a state that was seen is as new as one that was written. Kubernetes 1.35 promises that resourceVersions of one
 * kind are decimal numbers that grow (KEP-5504); anything else can only be compared for equality. Being wrong costs the
 * consistency timeout at most.
 */
export const isAtLeast = (seen: string, written: string): boolean => {
  if (seen === written) return true
  if (!DECIMAL.test(seen) || !DECIMAL.test(written)) return false
  return seen.length === written.length ? seen > written : seen.length > written.length
}
