/** How the containers of an install are told by their flags. */
import { spelled, variableOf } from '../../flag.ts'
import { type Check, type Container, defineCheck, type Finding } from '../model.ts'
import { containersOf, WORKLOAD_KINDS, workloadsOf } from './pods.ts'

/** What a flag is given as, as text: by an argument, else by its variable. `given` when a Secret or ConfigMap has it. */
export const settingOf = ({ command = [], args = [], env = [] }: Container, name: string): string | undefined => {
  const words = [...command, ...args]
  const flag = spelled(name)
  const at = words.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`))
  const word = words[at]
  if (word === undefined) {
    const variable = env.find((each) => each.name === variableOf(name))
    return variable === undefined ? undefined : (variable.value ?? 'given')
  }
  if (word !== flag) return word.slice(flag.length + 1)
  const next = words[at + 1]
  return next === undefined || next.startsWith('--') ? 'true' : next
}

/** The command of muster that a container runs, if it is one of it: the first word after the program's name. */
const commandOf = ({ command = [], args = [] }: Container): string | undefined =>
  [...command, ...args].find((word) => !/(^|\/)muster$/.test(word))

type Problem = Omit<Finding, 'check' | 'where'> | undefined

/** A look at each container that runs one of these commands. Pure. */
export const settingsCheck = (
  id: string,
  commands: readonly string[],
  problem: (container: Container) => Problem,
): Check =>
  defineCheck(id, WORKLOAD_KINDS, (objects) =>
    workloadsOf(objects).flatMap(({ where, pod }) =>
      containersOf(pod)
        .filter((container) => commands.includes(commandOf(container) ?? ''))
        .flatMap((container) => {
          const found = problem(container)
          return found === undefined ? [] : [{ ...found, where }]
        }),
    ),
  )
