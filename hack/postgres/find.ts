import { existsSync, globSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** Where Debian, Homebrew on both kinds of Mac, and the PATH keep PostgreSQL's programs. */
const places = (): readonly string[] => [
  ...globSync('/usr/lib/postgresql/*/bin/initdb'),
  ...globSync('/{opt/homebrew,usr/local}/opt/postgresql@*/bin/initdb'),
  ...(process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'initdb')),
]

const versionIn = (path: string): number => Number(/postgresql[@/](\d+)/.exec(path)?.[1] ?? 0)

/** The folder of the newest PostgreSQL on this machine, or undefined. */
export const findPostgres = (): string | undefined => {
  const found = places().filter((place) => existsSync(place))
  const newest = found.toSorted((a, b) => versionIn(b) - versionIn(a))[0]
  return newest === undefined ? undefined : dirname(newest)
}
