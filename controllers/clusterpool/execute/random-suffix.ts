import { randomInt } from 'node:crypto'

/** Letters that make no words and look like nothing else, as Kubernetes' generated names have them. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'
const SUFFIX_LENGTH = 5

/** Of a new cluster's name. */
export const randomSuffix = (): string =>
  Array.from({ length: SUFFIX_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
