import { execFile } from 'node:child_process'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import { expect, onTestFinished, test } from 'vitest'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { CHECKSUMS, PROVENANCE, release } from '#hack/release/release.ts'

const run = promisify(execFile)
const IMAGE = `registry.example.com/platform/muster@sha256:${'ab'.repeat(32)}`

const scratch = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-release-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('a release is signed, complete, runs, and is the same when it is made again', { timeout: 240_000 }, async () => {
  const folder = await scratch()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = join(folder, 'key.pem')
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  await writeFile(`${key}.pub`, publicKey.export({ type: 'spki', format: 'pem' }))
  const make = (name: string) =>
    release({ root: CHECKOUT, folder: join(folder, name), image: IMAGE, key, allowDirty: true })
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

  await run('sha256sum', ['--check', '--strict', CHECKSUMS], { cwd: one })
  await run('openssl', [
    'pkeyutl',
    '-verify',
    '-pubin',
    '-rawin',
    '-inkey',
    `${key}.pub`,
    '-in',
    join(one, CHECKSUMS),
    '-sigfile',
    join(one, `${CHECKSUMS}.sig`),
  ])

  const provenance: { subject: { name: string; digest: { sha256: string } }[] } = JSON.parse(
    await readFile(join(one, PROVENANCE), 'utf8'),
  )
  for (const { name, digest } of provenance.subject)
    expect(
      createHash('sha256')
        .update(await readFile(join(one, name)))
        .digest('hex'),
      name,
    ).toBe(digest.sha256)
  expect(provenance.subject.map(({ name }) => name)).toEqual(
    names.filter((name) => !name.startsWith(CHECKSUMS) && name !== PROVENANCE),
  )

  const images = loadAll(await readFile(join(one, 'install.yaml'), 'utf8')).flatMap(
    (object) => JSON.stringify(object).match(/(?<="image":")[^"]+/g) ?? [],
  )
  expect(images.filter((image) => image.includes('muster'))).toEqual(Array(7).fill(IMAGE))

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
