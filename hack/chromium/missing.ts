import type { Installable } from '../debian/install.ts'
import { findChromium } from './find.ts'

/** Why there is no Chromium here, and what to do; undefined when there is one. Tests of the dashboard need it. */
export const chromiumMissing = (): string | undefined =>
  findChromium() === undefined
    ? 'Chromium is not installed: "apt-get install chromium" (Debian), "brew install --cask chromium" (macOS)'
    : undefined

export const CHROMIUM: Installable = { title: 'Chromium', package: 'chromium', missing: chromiumMissing }
