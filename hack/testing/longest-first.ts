import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files whose tests take minutes: whole suites of processes. */
const LONG = /\/test\/(e2e|integration\/docs)\//

/** Long files begin first, so that at the end of a run no core waits for one of them. vitest goes by size, which says nothing of that. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const { long = [], short = [] } = Object.groupBy(sorted, ({ moduleId }) => (LONG.test(moduleId) ? 'long' : 'short'))
    return [...long, ...short]
  }
}
