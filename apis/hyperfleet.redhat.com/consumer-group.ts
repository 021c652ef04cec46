import { createHash } from 'node:crypto'

/** Characters that the API takes for a group's name. */
const MAX_GROUP_CHARS = 63
/** Hexadecimal digits that tell tasks apart. */
const HASH_CHARS = 12

/**
 * The consumer group of a task that names none: of no other task (ADAPTER-21). Namespaces and names may have the hyphen that parts them,
 * dots, and more characters than a group, so what can be read of them is not enough: a hash of both makes the difference.
 */
export const consumerGroup = (namespace: string, name: string): string => {
  const mark = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, HASH_CHARS)
  const readable = `${namespace}-${name}`.replaceAll('.', '-').slice(0, MAX_GROUP_CHARS - HASH_CHARS - 1)
  return `${readable}-${mark}`
}

/** What earlier releases made of them, which is not of one task alone. */
export const legacyConsumerGroup = (namespace: string, name: string): string =>
  `${namespace}-${name}`.slice(0, MAX_GROUP_CHARS)
