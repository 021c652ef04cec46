/**
 * Lets work go on that no code waits for. Such work sees to its own failures; one that comes out all the same is a defect, which the
 * process logs and counts (RUNTIME-70), by the name of the work.
 * @param work what goes on, for the log, such as `reading the keys of an issuer`
 */
export const detach = (work: string, promise: PromiseLike<unknown>): void => {
  promise.then(undefined, (cause: unknown) => {
    throw new Error(`${work} has failed, and nothing waited for it`, { cause })
  })
}
