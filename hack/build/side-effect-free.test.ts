import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { sideEffectFree } from './side-effect-free.ts'

/** The bundle of `main.ts`, of a project with these files by their paths. */
const bundled = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const folder = await temporaryFolder('project')
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ['main.ts'],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    plugins: [sideEffectFree],
  })
  return outputFiles.map(({ text }) => text).join('')
}

test.for(['./part.ts', '#part.ts'])(
  'a module imported as %s is bundled as the kind that its package.json says',
  async (specifier) => {
    const text = await bundled({
      'package.json': JSON.stringify({ type: 'module', imports: { '#*': './*' } }),
      'main.ts': `import ${JSON.stringify(specifier)}`,
      'part.ts': `import common from './common.cjs'; console.log(common)`,
      'common.cjs': 'exports.default = 1',
    })
    // 1: as Node.js imports CommonJS into an ES module, where `default` is the whole of the exports.
    expect(text).toContain('__toESM(require_common(), 1)')
  },
)

test('what is not used of a marked package is dropped, and its effects; not of another', async () => {
  const defines = (name: string) =>
    `export const used = '${name} used'; export const spare = globalThis.say('${name} spare')`
  const text = await bundled({
    'package.json': JSON.stringify({ type: 'module' }),
    'main.ts': `import { used } from 'typebox'; import { used as other } from 'other'; console.log(used, other)`,
    'node_modules/typebox/package.json': JSON.stringify({ name: 'typebox', type: 'module', main: './index.js' }),
    'node_modules/typebox/index.js': `export { used } from './used.js'; export * from './spare.js'`,
    'node_modules/typebox/used.js': defines('typebox'),
    'node_modules/typebox/spare.js': `globalThis.say('typebox effect'); export const more = 1`,
    'node_modules/other/package.json': JSON.stringify({ name: 'other', type: 'module', main: './index.js' }),
    'node_modules/other/index.js': defines('other'),
  })
  expect(text).toContain('typebox used')
  expect(text).not.toContain('typebox effect')
  expect(text).toContain('other spare')
})
