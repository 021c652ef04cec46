/** Does the work with the first call. Each further one returns what that returned: the same promise, if it is one. */
export const once = <T>(work: () => T): (() => T) => {
  let done: { readonly returned: T } | undefined
  return () => {
    done ??= { returned: work() }
    return done.returned
  }
}
