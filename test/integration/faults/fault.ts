/** A fault of what is around Muster, as a row of the matrix: docs/faults.md. */
import { expect } from 'vitest'
import { type ControllerName, type FaultWorld, PATIENCE, type Row, STEADY, untilAsDeclared } from './world.ts'

/** What a controller does while a fault lasts: it works as ever, or it can't and says why, in the words that a person finds. */
export type Meanwhile = 'works' | { readonly says: RegExp; readonly where: Say }

/** Every controller does what it is asked for. */
export const ALL_WORK = {
  sentinel: 'works',
  adapter: 'works',
  clusterpool: 'works',
  clusterclaim: 'works',
  clusterdeployment: 'works',
  clusterdevice: 'works',
  fleet: 'works',
} as const satisfies Row<Meanwhile>

/** Where a person looks. */
export type Say = (world: FaultWorld) => Promise<string>

export interface Fault {
  /** Begins it; what it gives ends it. */
  begin(world: FaultWorld): Promise<AsyncDisposable>
  readonly meanwhile: Row<Meanwhile>
  /** What else holds while it lasts. */
  readonly holds?: (world: FaultWorld) => Promise<void>
}

/** In the log of the controller's process. */
export const logs =
  (controller: ControllerName): Say =>
  (world) =>
    world.log(controller)

/** In what an object is: its conditions are part of it. @param args what `kubectl get` takes */
export const object =
  (...args: readonly string[]): Say =>
  (world) =>
    world.cluster.kubectl('get', ...args, '-o', 'json')

/**
 * One row: something is asked of every controller while the fault lasts, and taken back after it.
 * What holds for all: nothing that is declared goes or is exchanged, nothing is doubled or in two hands, no process ends, all is as declared in the end.
 */
export const holdUnder = async (
  world: FaultWorld,
  title: string,
  { begin, meanwhile, holds }: Fault,
): Promise<void> => {
  await world.markLogs()
  const before = await world.identities()
  const ends = [...world.suite.processes.values()].map((process) => process.ends().length)
  {
    await using _fault = await begin(world)
    await world.declare({ ...STEADY, claims: [...STEADY.claims, 'more'], rollouts: { web: title } })
    for (const [controller, does] of Object.entries(meanwhile) as [ControllerName, Meanwhile][]) {
      if (does === 'works') await expect.poll(() => world.undone[controller](), PATIENCE).toEqual([])
      else await expect.poll(() => does.where(world), PATIENCE).toMatch(does.says)
    }
    // Now that the others have worked or said why they can't, there was time to do wrong.
    expect(missingOf(before, await world.identities())).toEqual([])
    expect(world.observer.violations()).toEqual([])
    expect(world.surplus()).toEqual([])
    await holds?.(world)
  }
  await untilAsDeclared(world)
  expect(missingOf(before, await world.identities())).toEqual([])
  expect(world.observer.violations()).toEqual([])
  expect([...world.suite.processes.values()].map((process) => process.ends().length)).toEqual(ends)
  await world.declare(STEADY)
  await untilAsDeclared(world)
}

const missingOf = (before: readonly string[], after: readonly string[]): readonly string[] => {
  const there = new Set(after)
  return before.filter((one) => !there.has(one))
}
