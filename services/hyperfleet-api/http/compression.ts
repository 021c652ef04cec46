import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'

const compress = promisify(gzip)

/** Bytes; what is smaller fits one packet anyway. */
const MIN_COMPRESSED_BYTES = 1_400

/** Does the header take gzip? RFC 9110, section 12.5.3; the Go service answers gzip alone. */
export const acceptsGzip = (header: string | undefined): boolean => {
  const weights = new Map(
    (header ?? '').split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return [name, weight === undefined ? 1 : Number(weight.slice(2))] as const
    }),
  )
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}

/** The answer compressed, or undefined where that isn't wanted or worth it. */
export const compressBody = async (
  answer: Buffer | string,
  accepted: string | undefined,
): Promise<Buffer | undefined> =>
  !acceptsGzip(accepted) || Buffer.byteLength(answer) < MIN_COMPRESSED_BYTES
    ? undefined
    : compress(answer, { level: constants.Z_BEST_SPEED })
