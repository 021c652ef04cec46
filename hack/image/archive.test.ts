import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { imageConfig, writeImageArchive } from './archive.ts'

const run = promisify(execFile)

test('the configuration of an image', () => {
  const content = { folder: '/', tags: [], entrypoint: ['/bin/it', '--'], user: '65532:65532', env: { HOME: '/home' } }
  expect({ ...imageConfig(content, 'abc'), architecture: '' }).toMatchInlineSnapshot(`
    {
      "architecture": "",
      "config": {
        "Entrypoint": [
          "/bin/it",
          "--",
        ],
        "Env": [
          "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          "HOME=/home",
        ],
        "Labels": {},
        "User": "65532:65532",
      },
      "history": [
        {
          "created_by": "muster",
        },
      ],
      "os": "linux",
      "rootfs": {
        "diff_ids": [
          "sha256:abc",
        ],
        "type": "layers",
      },
    }
  `)
})

test('a folder becomes an archive with a layer that its configuration names; the same folder, the same archive', async () => {
  const scratch = await temporaryFolder('archive-test')
  const folder = join(scratch, 'root')
  await mkdir(join(folder, 'bin'), { recursive: true })
  await writeFile(join(folder, 'bin/it'), '#!/bin/sh\n', { mode: 0o755 })
  await symlink('it', join(folder, 'bin/that'))
  const archive = join(scratch, 'archives/it.tar')
  const content = { folder, tags: ['registry.example.com/it:v1'], entrypoint: ['/bin/it'] }
  await writeImageArchive(archive, content)
  const first = await readFile(archive)
  await writeImageArchive(archive, content)
  expect(first.equals(await readFile(archive))).toBe(true)

  const unpacked = join(scratch, 'unpacked')
  await mkdir(unpacked)
  await run('tar', ['--extract', `--file=${archive}`, `--directory=${unpacked}`])
  const [image] = JSON.parse(await readFile(join(unpacked, 'manifest.json'), 'utf8'))
  expect(image).toMatchObject({ RepoTags: content.tags, Layers: ['layer.tar'] })
  const layer = await readFile(join(unpacked, 'layer.tar'))
  const config = JSON.parse(await readFile(join(unpacked, image.Config), 'utf8'))
  expect(config.rootfs.diff_ids).toEqual([`sha256:${createHash('sha256').update(layer).digest('hex')}`])
  const { stdout } = await run('tar', [
    '--list',
    '--verbose',
    '--numeric-owner',
    `--file=${join(unpacked, 'layer.tar')}`,
  ])
  const files = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/))
  expect(files.map(([mode, owner, , , , ...name]) => [mode, owner, name.join(' ')])).toEqual([
    ['drwxr-xr-x', '0/0', './'],
    ['drwxr-xr-x', '0/0', './bin/'],
    ['-rwxr-xr-x', '0/0', './bin/it'],
    ['lrwxrwxrwx', '0/0', './bin/that -> it'],
  ])
})
