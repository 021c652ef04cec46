import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { bundledPackages, runtimePackage } from './contents.ts'

/** A checkout with these packages: path below it to package.json. */
const checkout = async (packages: Readonly<Record<string, object>>): Promise<string> => {
  const root = await temporaryFolder('contents')
  for (const [path, about] of Object.entries(packages)) {
    await mkdir(join(root, path), { recursive: true })
    await writeFile(join(root, path, 'package.json'), JSON.stringify(about))
  }
  return root
}

const HTMX = { 'node_modules/htmx.org': { name: 'htmx.org', version: '4.0.0', license: 'BSD-0-Clause' } }

/** What esbuild says of one file made of these sources: path to bytes. */
const madeOf = (sources: Readonly<Record<string, number>>): Metafile => ({
  inputs: {},
  outputs: {
    'muster.mjs': {
      bytes: 1,
      imports: [],
      exports: [],
      inputs: Object.fromEntries(Object.entries(sources).map(([path, bytesInOutput]) => [path, { bytesInOutput }])),
    },
  },
})

test('packages with code in the bundle, nested and scoped ones too, each version once; of those left out whole none', async () => {
  const mit = (name: string, version = '1.0.0') => ({ name, version, license: 'MIT' })
  const root = await checkout({
    ...HTMX,
    'node_modules/@scope/a': mit('@scope/a'),
    'node_modules/@scope/a/node_modules/b': mit('b', '2.0.0'),
    'node_modules/b': mit('b'),
    'node_modules/c/node_modules/b': mit('b'),
    'node_modules/unused': mit('unused'),
  })
  const metafile = madeOf({
    'cmd/muster.ts': 10,
    'node_modules/@scope/a/dist/index.js': 5,
    'node_modules/@scope/a/node_modules/b/index.js': 5,
    'node_modules/b/index.js': 5,
    'node_modules/c/node_modules/b/index.js': 5,
    'node_modules/unused/index.js': 0,
  })
  const found = await bundledPackages(metafile, root)
  expect(found.map(({ name, version, licence }) => `${name} ${version} ${licence}`)).toEqual([
    '@scope/a 1.0.0 MIT',
    'b 1.0.0 MIT',
    'b 2.0.0 MIT',
    'htmx.org 4.0.0 0BSD',
  ])
})

test('a package that says no licence is an error', async () => {
  const root = await checkout({ ...HTMX, 'node_modules/a': { name: 'a', version: '1.0.0' } })
  await expect(bundledPackages(madeOf({ 'node_modules/a/index.js': 1 }), root)).rejects.toThrow(
    'a@1.0.0 says no licence',
  )
})

test('the Node.js of the lockfile is a package, the machine’s own is none', async () => {
  const root = await checkout({ 'node_modules/node-x': { name: 'node-x', version: '24.0.0', license: 'MIT' } })
  await mkdir(join(root, 'node_modules/node-x/bin'))
  await writeFile(join(root, 'node_modules/node-x/bin/node'), '')
  await symlink(join(root, 'node_modules/node-x/bin/node'), join(root, 'node'))
  expect(await runtimePackage(join(root, 'node'))).toMatchObject({ name: 'node-x', version: '24.0.0', licence: 'MIT' })
  expect(await runtimePackage('/bin/sh')).toBeUndefined()
})
