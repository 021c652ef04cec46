/** `npm run release` makes the files of a release: docs/release.md. */
import { join, relative } from 'node:path'
import { Command } from 'commander'
import { release } from './release.ts'

const root = join(import.meta.dirname, '../..')

interface Options {
  readonly out: string
  readonly image?: string
  readonly key?: string
  readonly allowDirty?: boolean
}

const program = new Command('npm run release --')
  .description(
    'Makes the files of a release of this commit: bundle, runtime, manifests, bill of materials, notes, provenance, checksums.',
  )
  .option('--out <folder>', 'where to; what is there is removed', join(root, 'dist/release'))
  .option('--image <name>', 'the pushed image with its digest, name@sha256:…, which install.yaml then runs')
  .option('--key <file>', 'an Ed25519 key in PEM, which signs the checksums')
  .option('--allow-dirty', 'also with changes that are not committed, to try it')
  .action(async ({ out, image, key, allowDirty = false }: Options) => {
    for (const name of await release({ root, folder: out, image, key, allowDirty }))
      console.log(join(relative(process.cwd(), out), name))
  })

try {
  await program.parseAsync()
} catch (error) {
  console.error(`release: ${(error as Error).message}`)
  process.exitCode = 1
}
