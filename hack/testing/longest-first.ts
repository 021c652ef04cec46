import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { expectedSeconds, readDurations } from './durations.ts'

/** A test file of a project of vitest's configuration. */
interface ProjectFile {
  readonly project: { readonly name: string }
  readonly moduleId: string
}

/**
 * Files that take longest begin first, so that at the end of a run no core waits for one of them; project by project, the one with the
 * longest file first, since a worker ends with its modules when the next file in the queue is another project's.
 */
export const longestFirst = <File extends ProjectFile>(
  files: readonly File[],
  secondsOf: (file: File) => number,
): readonly File[] => {
  const byLength = files.toSorted((a, b) => secondsOf(b) - secondsOf(a))
  return [...Map.groupBy(byLength, ({ project }) => project.name).values()].flat()
}

/** vitest's sequencer by what files took the last time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = readDurations()
    const secondsOf = ({ moduleId }: TestSpecification): number =>
      expectedSeconds(relative(this.ctx.config.root, moduleId), durations)
    return [...longestFirst(files, secondsOf)]
  }
}
