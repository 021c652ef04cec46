/**
 * Loaded into a process by `node --import` and by nothing else: makes node:sqlite kill the process at a certain statement.
 * The plan is a file, so that a test can make it when the process already serves: it holds the number of statements that
 * are still done. Each of them is noted in a file beside it.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { StatementSync } from 'node:sqlite'
import { type Fuse, lightFuse } from './fuse.ts'
import { BACKGROUND_VARIABLE, PLAN_VARIABLE, traceOf } from './sqlite-plan.ts'

const plan = process.env[PLAN_VARIABLE]
if (plan === undefined) throw new Error(`${PLAN_VARIABLE} must name the file of the plan`)
const background = new RegExp(process.env[BACKGROUND_VARIABLE] ?? '^$', 'i')

let fuse: Fuse | undefined

const present = (): Fuse | undefined => {
  if (!existsSync(plan)) fuse = undefined
  else
    fuse ??= lightFuse({
      after: Number(readFileSync(plan, 'utf8')),
      background,
      counted: (sql) => appendFileSync(traceOf(plan), `${JSON.stringify(sql)}\n`),
    })
  return fuse
}

/** A signal to oneself is delivered before `kill` returns: nothing runs after it. */
const die = () => process.kill(process.pid, 'SIGKILL')

const wrap = (name: 'all' | 'get' | 'iterate' | 'run'): void => {
  const original = StatementSync.prototype[name] as (...parameters: unknown[]) => unknown
  const wrapped = function (this: StatementSync, ...parameters: unknown[]): unknown {
    const fate = present()?.at('the only session', this.sourceSQL) ?? 'lives'
    if (fate === 'dies before') die()
    const result = original.apply(this, parameters)
    if (fate === 'dies after') die()
    return result
  }
  Object.assign(StatementSync.prototype, { [name]: wrapped })
}

wrap('all')
wrap('get')
wrap('iterate')
wrap('run')
