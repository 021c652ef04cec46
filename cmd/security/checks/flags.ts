/** Flags whose values weaken what holds an install, as each says beside its meaning. SECURITY-21. */
import type { Flag, Flags, Weakness } from '#operator/flags/flag.ts'
import { apiFlags } from '../../api/command.ts'
import { spelled } from '../../flag.ts'
import { managerFlags } from '../../manager/command.ts'
import { LINES, type Line } from '../lines.ts'
import type { Check, Container } from '../model.ts'
import { settingOf, settingsCheck } from './setting.ts'

/** The commands of an install that serve, with all that they can be told. */
export const COMMANDS: Readonly<Record<string, Flags>> = { api: apiFlags, manager: managerFlags }

/** Of each flag that has a weakness, which line does not hold by it. */
const LINE_OF: Readonly<Record<string, Line>> = {
  allowUnauthenticated: LINES.api,
  authRoles: LINES.tenant,
  authAdapters: LINES.adapter,
  authConsumers: LINES.adapter,
  rateLimit: LINES.load,
  maxInFlight: LINES.load,
  maxStreams: LINES.load,
  adapterEnv: LINES.taskFiles,
  adapterHttpTargets: LINES.taskTargets,
  sentinelHttpTargets: LINES.taskTargets,
}

/** What the program would not start with is no weakness. */
const weaknessOf = (flag: Flag<unknown>, container: Container, name: string): Weakness | undefined => {
  const setting = settingOf(container, name)
  if (setting === undefined) return undefined
  try {
    return flag.weakness?.(flag.read(setting, spelled(name)))
  } catch {
    return undefined
  }
}

export const flagChecks: readonly Check[] = Object.entries(COMMANDS).flatMap(([command, flags]) =>
  Object.entries(flags)
    .filter(([, flag]) => flag.weakness !== undefined)
    .map(([name, flag]) => {
      const line = LINE_OF[name]
      if (line === undefined) throw new Error(`${spelled(name)} weakens, and no line of the table is named for it`)
      return settingsCheck(spelled(name).slice(2), [command], (container) => {
        const found = weaknessOf(flag, container, name)
        return found && { line, what: `by ${spelled(name)} ${found.what}`, todo: found.todo }
      })
    }),
)
