import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SHELL_TAGS } from './system-images.ts'

const SAMPLES = join(import.meta.dirname, '../../kustomize/samples')

test('the node has the images of the samples, whose Jobs run where nothing can be pulled', () => {
  const files = globSync(`${SAMPLES}/**/*.yaml`).map((file) => readFileSync(file, 'utf8'))
  const images = files.flatMap((text) => [...text.matchAll(/^\s*-? ?image: (\S+)$/gm)].map(([, image]) => image))
  expect(images.length).toBeGreaterThan(0)
  expect(SHELL_TAGS).toEqual(expect.arrayContaining(images))
})
