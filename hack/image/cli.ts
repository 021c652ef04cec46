/** `npm run image` builds the container image of this checkout with docker, podman or buildah: docs/image.md. */

import { join } from 'node:path'
import { Command } from 'commander'
import { checkoutInfo } from '#cmd/build-info.ts'
import { buildImage, imageOf } from './build.ts'
import { ENGINES, findEngine } from './engine.ts'

interface Options {
  readonly tag: string
  readonly engine?: string
  readonly buildImage?: string
  readonly runtimeImage?: string
}

const checkout = checkoutInfo(join(import.meta.dirname, '../..'))

const program = new Command('npm run image --')
  .description('Builds the container image of this checkout. Needs the registries of its bases and of npm.')
  .option('--tag <name>', 'what to call it', imageOf(checkout))
  .option('--engine <name>', `${ENGINES.map(({ name }) => name).join(', ')}; the first that works when not given`)
  .option('--build-image <name>', 'in place of the Dockerfile’s: Node.js 20 or newer with npm and a shell')
  .option('--runtime-image <name>', 'in place of the Dockerfile’s: glibc and libstdc++')
  .action(async ({ tag, engine: engineName, buildImage: build, runtimeImage: runtime }: Options) => {
    const engine = await findEngine(engineName)
    const { id, info } = await buildImage({
      engine,
      tag,
      bases: {
        ...(build === undefined ? {} : { BUILD_IMAGE: build }),
        ...(runtime === undefined ? {} : { RUNTIME_IMAGE: runtime }),
      },
    })
    const name = tag.replace(/:[^/:]*$/, '')
    console.log(`${tag} is ${id}: muster ${info.version} (${info.commit})`)
    console.log(`When it is pushed, an overlay runs it by its digest: npm run pin -- muster=${name}@sha256:…`)
  })

try {
  await program.parseAsync()
} catch (error) {
  console.error(`image: ${(error as Error).message}`)
  process.exitCode = 1
}
