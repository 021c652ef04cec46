import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Says to tests that they are to repeat and fuzz at length: test/harness/deep.ts, deep-properties.ts. */
export const DEEP = { MUSTER_TEST_DEEP: 'yes' } as const

/** What a test file has in its text that does more in `npm run test:deep`. */
const DOES_MORE = /harness\/deep\.ts|killAtEveryStatement|from 'fast-check'/

/** Test files that do more in `npm run test:deep` than in every other run, by path in the repository. */
export const deepTests = (root: string): readonly string[] =>
  globSync('{apis,cmd,controllers,hack,kustomize,lib,operator,services,test}/**/*.test.ts', { cwd: root })
    .filter((path) => DOES_MORE.test(readFileSync(join(root, path), 'utf8')))
    .toSorted()
