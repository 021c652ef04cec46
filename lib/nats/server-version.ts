/** Older servers accept limits of single messages and ignore them silently, and keys of their buckets don't tell when they are gone. FLEET-17. */
const OLDEST = [2, 11] as const

export const MIN_SERVER_VERSION = OLDEST.join('.')

export const isServerTooOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
}
