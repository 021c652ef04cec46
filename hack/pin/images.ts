import { dump, load } from 'js-yaml'
import { SetupError } from '../process/errors.ts'

/** What an image of the manifests is replaced by, by its short name. */
export interface Pin {
  /** The last part of the image's name in the manifests: `muster`. */
  readonly short: string
  /** registry.example.com/platform/muster */
  readonly name: string
  /** sha256:… */
  readonly digest: string
}

/** An entry of `images` in a kustomization.yaml. Kustomize: images. */
interface Image {
  readonly name: string
  readonly newName?: string
  readonly digest: string
}

const EXPECTED_FORM = 'write NAME=IMAGE@sha256:DIGEST, such as muster=registry.example.com/platform/muster@sha256:…'

/** A digest as OCI registries give it; zeros alone are the placeholder of the manifests. */
const REFERENCE = /^(?<short>[a-z0-9._-]+)=(?<name>[a-z0-9][a-z0-9._:/-]*)@(?<digest>sha256:(?!0{64}$)[0-9a-f]{64})$/

/** @throws SetupError when this is no `NAME=IMAGE@sha256:DIGEST` */
export const parsePin = (argument: string): Pin => {
  const { short, name, digest } = REFERENCE.exec(argument)?.groups ?? {}
  if (short === undefined || name === undefined || digest === undefined)
    throw new SetupError(`${argument}: ${EXPECTED_FORM}. A tag can be moved, so it is not enough`)
  return { short, name, digest }
}

const shortOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** The images that the manifests run, by tag. */
const OF_THE_MANIFESTS = ['quay.io/hyperfleet/muster', 'docker.io/library/nats']

/** Text before `images`, and what is in them; an overlay that runs images by tag has none. */
const parts = (text: string): { readonly before: string; readonly images: readonly Image[] } => {
  const at = text.search(/^images:$/m)
  if (at < 0) return { before: text, images: [] }
  const block = load(text.slice(at)) as Readonly<Record<string, unknown>>
  const others = Object.keys(block).filter((key) => key !== 'images')
  if (others.length > 0) throw new SetupError(`"images" must come last: move ${others.join(', ')} before it`)
  return { before: text.slice(0, at), images: block.images as readonly Image[] }
}

/**
 * A kustomization.yaml with these images named by these digests; everything before its `images`, comments included, stays as it is.
 * @throws SetupError when neither it nor the manifests name such an image, or it has something after its `images`
 */
export const withPins = (text: string, pins: readonly Pin[]): string => {
  const { before, images } = parts(text)
  const names = [...new Set([...images.map(({ name }) => name), ...OF_THE_MANIFESTS])]
  const known = names.map(shortOf)
  for (const { short } of pins)
    if (!known.includes(short)) throw new SetupError(`there is no image ${short} in it (valid: ${known.join(', ')})`)
  const pinned = names.flatMap((name): readonly Image[] => {
    const pin = pins.find(({ short }) => short === shortOf(name))
    if (pin === undefined) return images.filter((image) => image.name === name)
    const moved = pin.name === name ? {} : { newName: pin.name }
    return [{ name, ...moved, digest: pin.digest }]
  })
  return pinned.length === 0 ? text : before + dump({ images: pinned }, { lineWidth: -1, seqNoIndent: false })
}
