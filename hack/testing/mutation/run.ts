/** Changes one operator of a module that decides, runs its unit tests, and says which of these mutants they did not notice. */
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { copyCheckout } from './checkout-copy.ts'
import { decidingModules, type Module } from './modules.ts'
import { type Mutant, mutantsOf, mutate } from './mutants.ts'
import { pick } from './pick.ts'
import { startTester, type Tester } from './tester.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

interface Candidate {
  readonly module: Module
  readonly mutant: Mutant
}

const candidates = async (parts: readonly string[]): Promise<readonly Candidate[]> => {
  const modules = decidingModules(ROOT).filter(
    ({ path }) => parts.length === 0 || parts.some((part) => path.includes(part)),
  )
  const found = await Promise.all(
    modules.map(async (module) => {
      const source = await readFile(join(ROOT, module.path), 'utf8')
      return mutantsOf(source).map((mutant) => ({ module, mutant }))
    }),
  )
  return found.flat()
}

const describe = ({ module, mutant }: Candidate): string =>
  `${module.path}:${mutant.line} ${mutant.from} -> ${mutant.to === '' ? 'nothing' : mutant.to}`

const isNoticed = async (folder: string, tester: Tester, { module, mutant }: Candidate): Promise<boolean> => {
  const file = join(folder, module.path)
  const source = await readFile(file, 'utf8')
  for (const tests of module.tests) await tester.checkUnchanged(module.path, tests)
  await writeFile(file, mutate(source, mutant))
  try {
    for (const tests of module.tests) if (!(await tester.passes({ changed: module.path, tests }))) return true
    return false
  } finally {
    await writeFile(file, source)
  }
}

/** Which mutants to try. */
export interface MutantOptions {
  /** How many, of all modules together. */
  readonly count: number
  /** Another one chooses others. */
  readonly seed: number
  /** Parts of modules' paths; all modules when empty. */
  readonly parts: readonly string[]
}

/** Below this share of noticed mutants the tests have become weak. */
const ENOUGH = 0.9

/** Tries mutants, in copies of the checkout, and says which of them the unit tests did not notice. @returns whether they noticed enough */
export const tryMutants = async (
  { count, seed, parts }: MutantOptions,
  say: (line: string) => void,
): Promise<boolean> => {
  const all = await candidates(parts)
  const chosen = pick(all, count, seed)
  say(`${chosen.length} of ${all.length} mutants, chosen by the seed ${seed}`)
  let done = 0
  let survived = 0
  const waiting = chosen.values()
  const work = async (): Promise<void> => {
    await using copy = await copyCheckout(ROOT)
    using tester = startTester(copy.folder)
    for (const candidate of waiting) {
      const noticed = await isNoticed(copy.folder, tester, candidate)
      done++
      if (!noticed) {
        survived++
        say(`survived: ${describe(candidate)}`)
      }
      if (done % 25 === 0) say(`… ${done} of ${chosen.length} mutants, ${survived} survived`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  const share = chosen.length === 0 ? 1 : (chosen.length - survived) / chosen.length
  say(`the unit tests noticed ${(share * 100).toFixed(1)} % of ${chosen.length} mutants`)
  return share >= ENOUGH
}
