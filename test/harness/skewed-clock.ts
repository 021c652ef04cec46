/**
 * Loaded into a process by `node --import` and by nothing else: the process's clock is off by so many milliseconds, as that
 * of a machine whose time was never set right, or is set while it runs. Spans are measured as ever.
 */
import { readFileSync } from 'node:fs'
import { SKEW_FILE_VARIABLE, SKEW_VARIABLE } from './skew.ts'

/** How often the file is read, in milliseconds. */
const READ_EVERY_MS = 100

const file = process.env[SKEW_FILE_VARIABLE]
let skew = Number(process.env[SKEW_VARIABLE] ?? 0)
let readAt = Number.NEGATIVE_INFINITY

const skewNow = (): number => {
  if (file !== undefined && performance.now() - readAt > READ_EVERY_MS) {
    skew = Number(readFileSync(file, 'utf8'))
    readAt = performance.now()
  }
  return skew
}

globalThis.Date = new Proxy(Date, {
  construct: (target, args: [], newTarget: typeof Date) =>
    args.length === 0
      ? Reflect.construct(target, [target.now() + skewNow()], newTarget)
      : Reflect.construct(target, args, newTarget),
  get: (target, property, receiver) =>
    property === 'now' ? () => target.now() + skewNow() : Reflect.get(target, property, receiver),
})
