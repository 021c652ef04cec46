import { lstat, mkdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../process/folder.ts'
import { digestOf, type ImageSource, layOut } from './source.ts'

/** A program, and a folder with a file and a link in it. */
const machine = async () => {
  const folder = await temporaryFolder('machine')
  const program = join(folder, 'it')
  const shared = join(folder, 'shared')
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 })
  await mkdir(join(shared, 'deep'), { recursive: true })
  await writeFile(join(shared, 'deep/data'), 'data')
  await symlink('deep/data', join(shared, 'current'))
  const source: ImageSource = {
    name: 'it',
    tag: 'localhost/it:v1',
    entries: {
      '/bin/it': { from: program },
      '/bin/that': { link: 'it' },
      '/etc/passwd': { text: 'root:x:0:0::/:\n' },
      '/share': { from: shared },
      '/tmp': { mode: 0o1777 },
    },
  }
  return { program, shared, source }
}

test('files, folders, links and texts are laid out under their names', async () => {
  const { source } = await machine()
  const root = await temporaryFolder('root')
  await layOut(root, source.entries)
  const modes = ['/bin/it', '/tmp'].map(async (path) => ((await lstat(join(root, path))).mode & 0o7777).toString(8))
  expect(await Promise.all(modes)).toEqual(['755', '1777'])
  expect(await readlink(join(root, '/bin/that'))).toBe('it')
  expect(await readlink(join(root, '/share/current'))).toBe('deep/data')
  expect(await readFile(join(root, '/share/deep/data'), 'utf8')).toBe('data')
  expect(await readFile(join(root, '/etc/passwd'), 'utf8')).toBe('root:x:0:0::/:\n')
})

test('the digest is of what is in the image and of its settings, and not of where that is on the machine', async () => {
  const { source, shared } = await machine()
  const digest = await digestOf(source)
  expect(await digestOf((await machine()).source)).toBe(digest)
  expect(await digestOf({ ...source, entrypoint: ['/bin/it'] })).not.toBe(digest)
  await writeFile(join(shared, 'deep/data'), 'other')
  expect(await digestOf(source)).not.toBe(digest)
})
