import { onPath } from '../cluster/programs.ts'
import type { Installable } from '../debian/install.ts'

/** The full path of a promtool on this machine, or undefined. */
export const findPromtool = (): string | undefined => onPath('promtool')

/** Why there is no promtool here, and what to do; undefined when there is one. It tests alerts. */
export const promtoolMissing = (): string | undefined =>
  findPromtool() === undefined
    ? 'promtool is not installed: "apt-get install prometheus" (Debian), "brew install prometheus" (macOS)'
    : undefined

export const PROMTOOL: Installable = { title: 'promtool', package: 'prometheus', missing: promtoolMissing }
