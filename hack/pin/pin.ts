/**
 * `npm run pin -- muster=registry.example.com/platform/muster@sha256:…` writes which images an overlay runs.
 * `kustomize edit set image` does the same, and so do tools that open pull requests for new images: all write `images`.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { SetupError } from '../process/errors.ts'
import { parsePin, withPins } from './images.ts'

const command = new Command('npm run pin --')
  .description('Writes which images an overlay runs.')
  .argument('[pins...]', 'such as muster=registry.example.com/platform/muster@sha256:…')
  .option('--overlay <name>', 'of kustomize/overlays', 'prod')
  .parse()
const [positionals, values] = [command.args, command.opts<{ readonly overlay: string }>()]
/** From the root of the checkout, where npm runs its scripts. */
const path = `kustomize/overlays/${values.overlay}/kustomization.yaml`

const read = async (): Promise<string> => {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new SetupError(`${path} can’t be read: name an overlay of kustomize/overlays with --overlay`, { cause })
  }
}

try {
  if (positionals.length === 0)
    throw new SetupError('which image? For example: npm run pin -- muster=registry.example.com/muster@sha256:…')
  const pins = positionals.map(parsePin)
  await writeFile(path, withPins(await read(), pins))
  for (const { name, digest } of pins) console.log(`${path}: ${name}@${digest}`)
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  console.error(`npm run pin: ${error.message}`)
  process.exitCode = 2
}
