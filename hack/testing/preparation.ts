import { type Installable, mayInstall } from '../debian/install.ts'
import { isBuilt } from '../gobuild/build.ts'
import type { BinarySet } from '../gobuild/set.ts'
import { describeSeconds } from './progress.ts'

/** Programs that a run needs from Go, with the seconds that two cores take to build them from nothing. */
export interface Build {
  readonly set: BinarySet
  readonly seconds: number
}

/** What a run has to do before its tests. */
export interface Preparation {
  readonly builds: readonly Build[]
  readonly installs: readonly Installable[]
  /** Whether missing programs may be installed: not with `--no-install`. */
  readonly install: boolean
}

/** Lines that say what will be built and installed, and how long that takes; nothing when all is there. */
export const announce = (
  { builds, installs, install }: Preparation,
  { built = isBuilt, may = mayInstall }: { built?: (set: BinarySet) => boolean; may?: () => boolean } = {},
): readonly string[] => {
  const missing = installs.filter((program) => program.missing() !== undefined)
  const names = missing.map((program) => `${program.title} (${program.package})`).join(', ')
  const toBuild = builds.filter(({ set }) => !built(set))
  const seconds = toBuild.reduce((sum, build) => sum + build.seconds, 0)
  return [
    ...(toBuild.length === 0
      ? []
      : [
          `To build with Go, once: ${toBuild.map(({ set }) => set.title).join(' and ')}; about ${describeSeconds(seconds)} on two cores.`,
        ]),
    ...(missing.length === 0
      ? []
      : install && may()
        ? [`To install from Debian's packages: ${names}; a minute or two. --no-install leaves them out.`]
        : [`Not installed, so what needs them skips: ${names}.`]),
  ]
}
