import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import { expect, onTestFinished, test } from 'vitest'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { CHECKSUMS, PROVENANCE, release } from '#hack/release/release.ts'
import { commandsBelow, commandsWith, readPage } from '../docs/page.ts'

const run = promisify(execFile)

const scratch = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-release-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('a release is signed, complete, runs, and is the same when it is made again', { timeout: 240_000 }, async () => {
  const folder = await scratch()
  // By the page: its first command here, the flags of its second as the program has them.
  const page = await readPage('docs/release.md')
  const [makeKey = '', makeFiles = ''] = commandsWith(page, 'npm run release -- --image=').split('\n')
  await run('bash', ['-euc', makeKey], { cwd: folder })
  const [, image = '', name = ''] = /^npm run release -- --image=(\S+) --key=(\S+)$/.exec(makeFiles) ?? []
  const key = join(folder, name)
  await run('openssl', ['pkey', '-in', key, '-pubout', '-out', `${key}.pub`])
  const make = (name: string) => release({ root: CHECKOUT, folder: join(folder, name), image, key, allowDirty: true })
  const names = await make('one')
  const { version }: { version: string } = JSON.parse(await readFile(join(CHECKOUT, 'package.json'), 'utf8'))
  expect(names).toEqual(
    [
      CHECKSUMS,
      `${CHECKSUMS}.sig`,
      PROVENANCE,
      'RELEASE-NOTES.md',
      'crds.yaml',
      'install.yaml',
      `muster-${version}.tar.gz`,
      `muster-operator-${version}.tgz`,
      'sbom.cdx.json',
    ].sort(),
  )
  const one = join(folder, 'one')

  await copyFile(`${key}.pub`, join(one, 'release.pub'))
  const [check = 'exit 1'] = commandsBelow(page, 'Check one')
  await run('bash', ['-euc', check], { cwd: one })

  const provenance: { subject: { name: string; digest: { sha256: string } }[] } = JSON.parse(
    await readFile(join(one, PROVENANCE), 'utf8'),
  )
  // SECURITY-33
  const [imageName, imageDigest] = image.split('@sha256:')
  expect(provenance.subject.at(-1)).toEqual({ name: imageName, digest: { sha256: imageDigest } })
  const files = provenance.subject.slice(0, -1)
  for (const { name, digest } of files)
    expect(
      createHash('sha256')
        .update(await readFile(join(one, name)))
        .digest('hex'),
      name,
    ).toBe(digest.sha256)
  expect(files.map(({ name }) => name)).toEqual(
    names.filter((name) => !name.startsWith(CHECKSUMS) && name !== PROVENANCE),
  )

  const images = loadAll(await readFile(join(one, 'install.yaml'), 'utf8')).flatMap(
    (object) => JSON.stringify(object).match(/(?<="image":")[^"]+/g) ?? [],
  )
  expect(images.filter((image) => image.includes('muster'))).toEqual(Array(7).fill(image))

  await run('tar', ['--extract', '--gzip', `--file=${join(one, `muster-${version}.tar.gz`)}`, `--directory=${folder}`])
  const { stdout } = await run(process.execPath, [join(folder, `muster-${version}`, 'muster.mjs'), 'version'])
  expect(stdout).toContain(version)

  await make('two')
  const sums = async (name: string) => await readFile(join(folder, name, CHECKSUMS), 'utf8')
  expect(await sums('two')).toBe(await sums('one'))
})

test.for([
  ['an image without digest', { image: 'registry.example.com/muster:v1' }, 'write name@sha256:'],
  ['a key that is none', { key: '/dev/null' }, 'openssl genpkey -algorithm ed25519'],
] as const)('%s is refused before anything is written', async ([, options, message]) => {
  const folder = join(await scratch(), 'out')
  await expect(release({ root: CHECKOUT, folder, allowDirty: true, ...options })).rejects.toThrow(message)
  await expect(readFile(folder)).rejects.toThrow('ENOENT')
})
