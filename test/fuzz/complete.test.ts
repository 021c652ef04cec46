/** No function that reads a text is left out of what is fuzzed. SECURITY-14. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TARGETS } from './targets/index.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** Functions with such a name that need no inputs of their own, and why. */
const NOT_FUZZED: Readonly<Record<string, string>> = {
  compileError: 'makes an error',
  readTextFile: 'reads a file, whose text its callers read',
  parseTimestamp: 'of CEL: by its expressions; of the API: a target',
  parseIndex: 'by patches',
  parseShard: 'by parseSettings',
  compileJsonPath: 'by parseFieldPath',
  parseIssuers: 'the configuration of whoever starts the API, after its schema',
  parseTenantRules: 'the configuration of whoever starts the API, after its schema',
  compileSchemas: 'the configuration of whoever starts the API',
  compileConditions: 'the configuration of whoever starts the API',
  compileFilter: 'by searches',
  compileTest: 'by searches',
  compileRows: 'by searches',
  compileCount: 'by searches',
  compileRowsByCreation: 'by searches',
  compileText: 'by searches',
  parseDocument: 'rows that the API wrote',
  parseJson: 'gives undefined for what is no JSON',
  readPatches: 'by patches',
  readOperation: 'by patches',
  readNumber: 'by templates',
  readCredentials: 'a file of whoever starts the program',
  readConfig: 'a file of whoever starts the API: its text by parseYaml and checkConfig',
  readSpecSchemas: 'a file of whoever starts the API',
  readHoldReason: 'files of the device’s own administrator, shown and not read',
  readIfThere: 'gives the bytes of a file, and reads nothing of them',
  readOwnerId: 'a parameter of a path, after the router',
  readAfterConflict: 'makes a right',
  readOnlySqlite: 'opens a database',
  loadAssets: 'files of the dashboard itself',
}

const READS = /^export (?:const|(?:async )?function\*?) ((?:parse|compile)[A-Z]\w*)\b/gm

/** Of other names those that take a text, bytes, or what has no type yet. */
const TAKES =
  /^export (?:const|(?:async )?function\*?) ((?:read|decode|load)[A-Z]\w*)(?: = (?:async )?)?(?:<[^(]*>)?\(\s*(?:\{[^}]*\}|\w+)\??: (?:readonly )?(?:unknown|string|Uint8Array|Buffer)\b/gm

test('SECURITY-14: every function that reads a text is a target, or says why it is none', () => {
  const files = globSync('{apis,lib,operator,controllers,services,cmd/agent}/**/*.ts', { cwd: ROOT })
  const names = files
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8')
      return [READS, TAKES].flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => name))
    })
  const known = [...TARGETS.flatMap(({ reads }) => reads), ...Object.keys(NOT_FUZZED)]
  expect(new Set(names).difference(new Set(known))).toEqual(new Set())
  expect(new Set(Object.keys(NOT_FUZZED)).difference(new Set(names))).toEqual(new Set())
})

/** Files that read YAML of the install itself, of the person that starts the program, or that write it. */
const OWN_YAML = ['lib/yaml/read-yaml.ts', 'operator/host.ts', 'services/hyperfleet-api/config/yaml.ts']

test('SECURITY-14: YAML of others is read by lib/yaml alone', () => {
  const files = globSync('{apis,lib,operator,controllers,services}/**/*.ts', { cwd: ROOT })
  const reading = files.filter(
    (file) =>
      !file.endsWith('.test.ts') &&
      /import \{[^}]*\bload\b[^}]*\} from 'js-yaml'/.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  expect(reading.toSorted()).toEqual(OWN_YAML)
})
