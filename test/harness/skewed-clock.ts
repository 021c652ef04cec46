/**
 * Loaded into a process by `node --import` and by nothing else: the process's clock is off by so many milliseconds, as that
 * of a machine whose time was never set right. Spans are measured as ever.
 */

/** Milliseconds, ahead where positive. */
export const SKEW_VARIABLE = 'MUSTER_TEST_CLOCK_SKEW_MS'

const skew = Number(process.env[SKEW_VARIABLE] ?? 0)

globalThis.Date = new Proxy(Date, {
  construct: (target, args: [], newTarget: typeof Date) =>
    args.length === 0
      ? Reflect.construct(target, [target.now() + skew], newTarget)
      : Reflect.construct(target, args, newTarget),
  get: (target, property, receiver) =>
    property === 'now' ? () => target.now() + skew : Reflect.get(target, property, receiver),
})
