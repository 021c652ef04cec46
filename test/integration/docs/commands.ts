import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresMissing } from '#test/harness/index.ts'
import { type Page, REPOSITORY, readPage } from './page.ts'
import { runPage } from './shell.ts'
import { WORLDS, type World } from './worlds.ts'

/** The README and every page below docs/, by path from the root. */
export const PAGES: readonly Page[] = await Promise.all(
  [
    'README.md',
    ...readdirSync(join(REPOSITORY, 'docs'), { recursive: true })
      .map((path) => `docs/${String(path)}`)
      .sort(),
  ]
    .filter((path) => path.endsWith('.md'))
    .map(readPage),
)

const isRun = ({ blocks }: Page): boolean => blocks.some(({ way }) => way.how === 'here' || way.how === 'beside')

/** One test a page of these worlds, which are started once. */
export const runsTheCommandsOf = (...names: readonly (keyof typeof WORLDS)[]): void => {
  for (const name of names) {
    const pages = PAGES.filter((page) => page.world === name && isRun(page))
    const lacks = ['installed', 'takeover', 'production'].includes(name) ? postgresMissing() : undefined
    const title = lacks === undefined ? `${name}:` : `${name} (skipped: ${lacks}):`
    describe.skipIf(lacks !== undefined || pages.length === 0)(title, () => {
      let world: World | undefined
      beforeAll(async () => {
        world = await WORLDS[name]?.()
      }, 600_000)
      test('what is printed anew each time stands in a page as it is replaced', () => {
        const unseen = Object.keys(world?.printed ?? {}).filter(
          (printed) => !pages.some(({ text }) => text.includes(printed)),
        )
        expect(unseen).toEqual([])
      })
      afterAll(() => world?.[Symbol.asyncDispose](), 120_000)

      for (const page of pages) {
        test(`the commands of ${page.path} do what it says`, { timeout: 700_000 }, async () => {
          if (world === undefined) throw new Error(`The world ${name} did not start.`)
          const took = await runPage(page, world)
          const long = took.filter(([, seconds]) => seconds >= 1)
          if (long.length > 0)
            console.log(
              [`${page.path}, in seconds:`, ...long.map(([begin, seconds]) => `${seconds.toFixed(1)} ${begin}`)].join(
                '\n',
              ),
            )
        })
      }
    })
  }
}
