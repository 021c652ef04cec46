import { existsSync } from 'node:fs'
import { onPath } from '../cluster/programs.ts'

/** Where macOS keeps its applications. */
const APPLICATIONS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The full path of a Chromium on this machine, or undefined. */
export const findChromium = (): string | undefined =>
  onPath('chromium') ?? onPath('chromium-browser') ?? APPLICATIONS.find((path) => existsSync(path))
