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

/** Of answers that are compressed at a time, where it is more than one: those that wait for a thread would be in memory without a bound. */
const MAX_UNDER_WAY = 2 * 1024 * 1024
let underWay = 0

/** The answer compressed, or undefined where that isn't wanted or worth it, or where too much of others is compressed just now (API-206). */
export const compressBody = async (
  answer: Buffer | string,
  accepted: string | undefined,
): Promise<Buffer | undefined> => {
  const bytes = Buffer.byteLength(answer)
  if (!acceptsGzip(accepted) || bytes < MIN_COMPRESSED_BYTES) return undefined
  if (underWay > 0 && underWay + bytes > MAX_UNDER_WAY) return undefined
  underWay += bytes
  try {
    return await compress(answer, { level: constants.Z_BEST_SPEED })
  } finally {
    underWay -= bytes
  }
}
