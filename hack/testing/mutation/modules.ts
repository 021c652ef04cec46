import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Folders of sources whose unit tests alone should notice every mistake: they decide, and touch nothing. */
const DECIDING = [
  'apis',
  'controllers',
  'lib',
  'operator/model',
  'operator/engine',
  'services/hyperfleet-api/model',
  'services/hyperfleet-api/search',
]

/** What reads or writes; integration tests are for that. */
const DOES_IO = /from '(node:(?!crypto|util|assert)|undici|@nats-io|pg|kysely|fastify|prom-client|#operator\/client)/

/** A module whose mutants are tried, by paths in the repository. */
export interface Module {
  readonly path: string
  /** Tests to try, one after the other: its own, where it has one, and those of its folder. */
  readonly tests: readonly string[]
}

/** Modules that decide: those with a unit test beside them, and the parts of a `decide/`, which is tested as a whole. */
export const decidingModules = (root: string): readonly Module[] =>
  globSync(`{${DECIDING.join(',')}}/**/*.ts`, { cwd: root })
    .filter((path) => !path.endsWith('.test.ts') && (hasOwnTest(root, path) || path.includes('/decide/')))
    .filter((path) => !DOES_IO.test(readFileSync(join(root, path), 'utf8')))
    .toSorted()
    .map((path) => ({ path, tests: [...(hasOwnTest(root, path) ? [testOf(path)] : []), folderOf(path)] }))

const hasOwnTest = (root: string, path: string): boolean => existsSync(join(root, testOf(path)))

const testOf = (path: string): string => path.replace(/\.ts$/, '.test.ts')

/** Of a controller all of it: `controllers/fleet/rollout/advance.ts` is tested in `controllers/fleet` too. */
const folderOf = (path: string): string =>
  path.startsWith('controllers/') ? `${path.split('/').slice(0, 2).join('/')}/` : `${dirname(path)}/`
