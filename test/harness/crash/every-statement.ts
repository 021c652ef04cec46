import { isDeep } from '../deep.ts'
import type { MusterProcess } from '../muster.ts'
import type { Ground, Row } from './ground.ts'

/**
 * A mutation that is killed at each of its statements. Every round has a prepared of its own in the same database, so
 * the process that is restarted after one kill is the one that is killed next.
 */
export interface Scenario<Situation, Answer> {
  /** Arguments of `muster api` beyond addresses and database. */
  readonly args?: readonly string[]
  /** Brings about what the mutation starts from. @param round differs every time, for names */
  prepare(url: string, round: number): Promise<Situation>
  /** The mutation. It rejects when the process dies before it answers. */
  mutate(url: string, prepared: Situation): Promise<Answer>
  /** Looks at what is left: in the tables while nothing runs, then through the API that was started again. */
  check(remains: Remains<Situation, Answer>): Promise<void>
}

export interface Remains<Situation, Answer> {
  readonly prepared: Situation
  /** What the caller was told; undefined when it was told nothing. */
  readonly answer: Answer | undefined
  /** The statements that were done before the kill. */
  readonly statements: readonly string[]
  readonly rows: (sql: string) => Promise<readonly Row[]>
  /** Starts the API again and gives its URL; tables can't be read past it any more. */
  readonly restart: () => Promise<string>
}

/** More than any mutation takes: it is not coming to its end. */
const MOST = 500

/** An ordinary run kills after one statement in so many, and at all that stand at the begin and the end of the mutation. */
const STRIDE = 4

/** After how many of the mutation's statements it is killed: after none, after one, … and, beyond the last one, after its answer. */
const killPoints = (statements: number): readonly number[] => {
  const all = Array.from({ length: statements + 2 }, (_, after) => after)
  // At the end is the commit, where done and not done part.
  const isAtAnEnd = (after: number) => after === 0 || after >= statements - 1
  return isDeep ? all : all.filter((after) => isAtAnEnd(after) || after % STRIDE === 2)
}

/**
 * Kills the API with SIGKILL after 0, 1, 2 … statements of the mutation, until it gets through, and once more right after
 * its answer; an ordinary run leaves out some in the middle, `npm run test:deep` none.
 * @returns the statements of the mutation that got through
 */
export const killAtEveryStatement = async <Situation, Answer>(
  ground: Ground,
  { args = [], prepare, mutate, check }: Scenario<Situation, Answer>,
): Promise<readonly string[]> => {
  let victim = await ground.start(args)
  let round = 0
  /** How many statements it takes when nothing kills it. */
  const countStatements = async (): Promise<number> => {
    const url = await urlOf(victim)
    const prepared = await prepare(url, round++)
    await ground.dieAfter(victim, MOST)
    await mutate(url, prepared)
    return (await ground.disarm()).length
  }
  try {
    const points = killPoints(await countStatements())
    const last = points.at(-1) ?? 0
    // It may take more statements than the first time: then it is killed at those too.
    for (const after of [...points, ...Array.from({ length: MOST - last }, (_, index) => last + 1 + index)]) {
      const url = await urlOf(victim)
      const prepared = await prepare(url, round++)
      await ground.dieAfter(victim, after)
      const answer = await mutate(url, prepared).catch(() => undefined)
      victim.signal('SIGKILL')
      await victim.exited
      const statements = await ground.disarm()
      let isBack = false
      const restart = async () => {
        if (!isBack) victim = await ground.start(args)
        isBack = true
        return urlOf(victim)
      }
      try {
        await check({ prepared, answer, statements, rows: ground.rows, restart })
      } catch (cause) {
        throw new Error(`killed after statement ${after}: ${statements.at(-1) ?? 'none'}`, { cause })
      }
      if (answer !== undefined) return statements
      await restart()
    }
    throw new Error(`the mutation has not come to its end after ${MOST} statements`)
  } finally {
    await victim.stop()
  }
}

const urlOf = async (victim: MusterProcess): Promise<string> =>
  `${String((await victim.line('the HyperFleet API is serving')).url)}/api/hyperfleet/v1`
