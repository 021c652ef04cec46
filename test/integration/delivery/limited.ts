import { expect, type TestContext } from 'vitest'
import { requireInCi } from '#hack/testing/ci.ts'
import { type DeployedProgram, deployedMemory } from '#test/bench/deployed.ts'
import type { MusterProcess } from '#test/bench/program.ts'
import { memoryLimit, memoryLimitMissing } from '#test/harness/memory-limit.ts'

const MEBIBYTE = 2 ** 20

/** The shell before the program has less, and the pages of Node.js's own file may count for another process that read them first. */
const A_START = 16 * MEBIBYTE

export interface Limited {
  /** Put before the program's command. */
  readonly prefix: readonly string[]
  /** The process lives, and was held to its limit; one that was there before must have been ended in order. */
  check(running: MusterProcess): Promise<void>
}

/** A defence that is not tried in CI counts as one that does not hold. */
export const skipWithout = (missing: string | undefined, skip: TestContext['skip']): void => {
  requireInCi(missing)
  if (missing !== undefined) skip(missing)
}

/** Why nothing can be held to a limit here, nor be looked at; undefined when it can. */
export const limitsMissing = (): string | undefined =>
  process.platform === 'linux' ? undefined : 'What a process takes is told by Linux alone'

/** Holds a program to the memory limit of its Deployment by a control group, as kubelet does it, where there can be one. */
export const limitedAs = async (program: DeployedProgram): Promise<Limited> => {
  const { limit } = deployedMemory(program)
  requireInCi(memoryLimitMissing())
  const group = memoryLimitMissing() === undefined ? await memoryLimit(limit) : undefined
  return {
    prefix: group?.prefix ?? [],
    check: async (running) => {
      expect((await group?.kills()) ?? 0).toBe(0)
      // The group does not have the pages of Node.js's file when another process read them first. V8 ends a process whose heap is
      // full: that is no kill, and then there is no peak.
      expect(running.usage().peakRssMiB * MEBIBYTE).toBeLessThan(limit)
      // It was in it.
      expect((await group?.peak()) ?? A_START).toBeGreaterThanOrEqual(A_START)
    },
  }
}
