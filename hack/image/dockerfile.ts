/** What the Dockerfile says of the image, read without building it. */
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { DockerfileParser, Label, User } from 'dockerfile-ast'

export const CHECKOUT = join(import.meta.dirname, '..', '..')

/** What the image says of itself. */
export interface Configuration {
  readonly user: string
  readonly entrypoint: readonly string[]
  readonly labels: Readonly<Record<string, string>>
}

export interface Copied {
  /** In the build stage. */
  readonly source: string
  /** In the image. */
  readonly target: string
}

export interface LastStage {
  readonly copies: readonly Copied[]
  readonly configuration: Configuration
}

/** @param args values for its ARGs */
export const lastStage = async (args: Readonly<Record<string, string>>): Promise<LastStage> => {
  const parsed = DockerfileParser.parse(await readFile(join(CHECKOUT, 'Dockerfile'), 'utf8'))
  const from = parsed.getFROMs().at(-1)?.getRange().end
  const stage = from && parsed.getContainingImage(from)
  if (!stage) throw new Error('the Dockerfile has no stage')
  const copies = stage.getCOPYs().map((copy): Copied => {
    const [source, target] = copy.getArguments().map((argument) => argument.getValue())
    if (copy.getFromFlag()?.getValue() !== 'build' || source === undefined || target === undefined)
      throw new Error(
        `no other COPY can be read here than "--from=build SOURCE TARGET": ${copy.getRawArgumentsContent()}`,
      )
    return { source, target: posix.resolve('/', target) }
  })
  const instructions = stage.getInstructions()
  const user = instructions.findLast((one) => one instanceof User)?.getArgumentsContent() ?? 'root'
  const entrypoint = stage.getENTRYPOINTs().flatMap((one) => one.getJSONStrings().map((each) => each.getJSONValue()))
  const labels = instructions.filter((one) => one instanceof Label).flatMap((one) => one.getProperties())
  const filled = labels.map((label) => [
    label.getName(),
    (label.getValue() ?? '').replaceAll(/\$\{(\w+)\}/g, (_, name: string) => args[name] ?? ''),
  ])
  return { copies, configuration: { user, entrypoint, labels: Object.fromEntries(filled) } }
}
