import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import type { Package } from './contents.ts'
import { notices } from './licence-notices.ts'

/** Packages on disk: for each its name and its files. */
const install = async (contents: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<Package[]> => {
  const root = await temporaryFolder('notices')
  return Promise.all(
    Object.entries(contents).map(async ([name, files]) => {
      const folder = join(root, name)
      await mkdir(folder)
      for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
      return { name, version: '1.0.0', licence: 'MIT', folder }
    }),
  )
}

test('each licence stands once, under the packages that have it; a notice goes with it', async () => {
  const packages = await install({
    one: { LICENSE: 'Do what you like.\n', 'README.md': '# One\n' },
    two: { 'licence.md': 'Do what you like.' },
    three: { 'LICENSE.txt': 'Say who made it.', NOTICE: 'Made by three.' },
  })
  expect((await notices(packages)).replaceAll(/-{80}/g, '---')).toMatchInlineSnapshot(`
    "Muster holds code of these packages.

    ---

    one 1.0.0 (MIT)
    two 1.0.0 (MIT)

    Do what you like.

    ---

    three 1.0.0 (MIT)

    Say who made it.

    Made by three.
    "
  `)
})

test('a package that says its licence only in its readme is quoted from there', async () => {
  const packages = await install({
    one: { 'Readme.md': '# One\n\n## License\n\nCopyright One.\n\nMIT.\n\n## Use\n\nCall it.\n' },
  })
  const text = await notices(packages)
  expect(text).toContain('one 1.0.0 (MIT)\n\nCopyright One.\n\nMIT.\n')
  expect(text).not.toContain('Call it.')
})

test('a package without the text of its licence is an error', async () => {
  await expect(install({ one: { 'README.md': '# One\n' } }).then(notices)).rejects.toThrow(
    'one@1.0.0 (MIT) has no text of its licence',
  )
})
