import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { expectedSeconds, readDurations } from './durations.ts'

/** Files that take longest begin first, so that at the end of a run no core waits for one of them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = readDurations()
    const secondsOf = ({ moduleId }: TestSpecification): number =>
      expectedSeconds(relative(this.ctx.config.root, moduleId), durations)
    return files.toSorted((a, b) => secondsOf(b) - secondsOf(a))
  }
}
