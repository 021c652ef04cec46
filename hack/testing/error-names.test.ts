import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ERROR_CATALOGUES } from '../codegen/errors.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')

/** A class of errors, what it extends, and what stands in its body until the next declaration at the left edge. */
const CLASS = /^(?:export )?class (\w+) extends (\w*Error\b|errorOf\(\w+, '\w+'\)).*\{(?:\}\n|\n((?:[ }].*\n|\n)*))/gm

const classesIn = (folders: string) =>
  globSync(`${folders}/**/*.ts`, { cwd: REPOSITORY, exclude: ['**/*.test.ts'] }).flatMap((file) =>
    [...readFileSync(join(REPOSITORY, file), 'utf8').matchAll(CLASS)].map(([, name = '', base = '', body = '']) => ({
      file,
      name,
      stated:
        /errorOf\(\w+, '(\w+)'\)/.exec(base)?.[1] ??
        /(?:override readonly name(?:: string)? =|this\.name =) '(\w+)'/.exec(body)?.[1],
    })),
  )

test('the name of an error, as logs show it, is the name of its class', () => {
  const classes = classesIn('{apis,lib,operator,controllers,services,cmd,hack}')
  expect(classes.length).toBeGreaterThan(60)
  expect(classes.filter(({ name, stated }) => stated !== name)).toEqual([])
})

test.each(ERROR_CATALOGUES)(
  'the catalogue of $folder has each error of its classes, and no other',
  ({ folder, errors }) => {
    expect(Object.keys(errors).toSorted()).toEqual(
      classesIn(folder)
        .map(({ name }) => name)
        .toSorted(),
    )
  },
)

test('every class of errors is of a layer that has a catalogue, and every name is there once', () => {
  const inLayers = ERROR_CATALOGUES.flatMap(({ folder }) => classesIn(folder).map(({ name }) => name))
  expect(inLayers.toSorted()).toEqual(
    classesIn('{apis,lib,operator,controllers,services,cmd}')
      .map(({ name }) => name)
      .toSorted(),
  )
  expect(new Set(inLayers).size).toBe(inLayers.length)
})
