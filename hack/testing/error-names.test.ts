import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const REPOSITORY = join(import.meta.dirname, '..', '..')

/** A class of errors and what stands in its body until the next declaration at the left edge. */
const CLASS = /^(?:export )?(?:abstract )?class (\w+) extends \w*Error\b.*\{\n((?:[ }].*\n|\n)*)/gm

test('the name of an error, as logs show it, is the name of its class', () => {
  const strange = globSync('{apis,lib,operator,controllers,services,cmd,hack}/**/*.ts', { cwd: REPOSITORY }).flatMap(
    (file) =>
      [...readFileSync(join(REPOSITORY, file), 'utf8').matchAll(CLASS)].flatMap(([, name, body = '']) => {
        const stated = /(?:override readonly name(?:: string)? =|this\.name =) '(\w+)'/.exec(body)?.[1]
        return stated === undefined || stated === name ? [] : [`${file}: ${name} calls itself ${stated}`]
      }),
  )
  expect(strange).toEqual([])
})
