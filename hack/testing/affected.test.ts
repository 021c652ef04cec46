import { execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { affectedByPath } from './affected.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')

/** What decides how everything is run, checked or installed. */
const EVERYTHING = ['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'vitest.config.ts']

const tracked = execFileSync('git', ['ls-files'], { cwd: REPOSITORY, encoding: 'utf8' }).trim().split('\n')

test('only what decides about everything affects everything: every other file has its tests', () => {
  expect(tracked.filter((path) => affectedByPath([path]) === 'all').toSorted()).toEqual(EVERYTHING.toSorted())
})

test('every part of the table has tests', () => {
  const parts = new Set(tracked.flatMap((path) => affectedByPath([path])).filter((part) => part !== 'all'))
  const without = [...parts].filter(
    (part) => globSync(`${part}${part.endsWith('/') ? '**/' : ''}*.test.ts`, { cwd: REPOSITORY }).length === 0,
  )
  expect(without).toEqual([])
})

test('every controller has tests on servers that a change of it runs', () => {
  const folders = new Set(
    tracked.filter((path) => path.startsWith('controllers/')).map((path) => dirname(path).split('/')[1]),
  )
  for (const folder of folders) {
    if (folder === undefined || !existsSync(join(REPOSITORY, 'test', 'integration', folder))) continue
    expect(affectedByPath([`controllers/${folder}/index.ts`])).toContain(`test/integration/${folder}/`)
  }
})

test('a change of a page runs the pages, one of a manifest what applies it, one of a unit test nothing else', () => {
  expect(affectedByPath(['docs/sentinel.md'])).toContain('test/integration/docs/')
  expect(affectedByPath(['kustomize/base/api/deployment.yaml'])).toEqual(
    expect.arrayContaining(['test/integration/delivery/', 'test/e2e/', 'test/integration/docs/']),
  )
  expect(affectedByPath(['operator/model/clock.test.ts'])).toEqual([])
})
