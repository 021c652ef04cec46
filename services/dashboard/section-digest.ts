import { createHash } from 'node:crypto'
import type { Section } from './page.ts'

/** Tells whether what is shown is still the same. */
export const digestOf = (sections: readonly Section[]): string => {
  const hash = createHash('sha256')
  for (const each of sections) hash.update(sectionDigest(each)).update('\n')
  return hash.digest('base64url')
}

export const sectionDigest = ({ id, heading = '', body }: Section): string =>
  createHash('sha256').update(`${id}\n${heading}\n${body.html}`).digest('base64url')
