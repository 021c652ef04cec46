import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../problems/problem.ts'

/**
 * Optimistic reads and writes as HTTP has them (RFC 9110, sections 8.8.3 and 13.1; API-92). A tag names a state: it is made of
 * what is stored, so every replica gives the same, and it changes with a report as well as with a change. A compressed
 * answer has a tag of its own, as it must; both name the same state.
 */

const COMPRESSED = '-gzip'
const TAG = /(W\/)?"([^"]*)"/g
const TAGS = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/

/** The strong tag of a state, by its JSON. */
export const entityTag = (json: string): string => `"${hash('sha256', json, 'base64url')}"`

/** The tag of the same state in a compressed answer. */
export const compressedTag = (tag: string): string => `${tag.slice(0, -1)}${COMPRESSED}"`

/** What a request says about the state that it is for. */
export interface Preconditions {
  /** @throws Problem preconditionFailed */
  check(tag: string): void
  /** The tag by which a reader knows the state already. */
  knownTag(tag: string): string | undefined
}

/** @throws Problem badRequest */
export const readPreconditions = (headers: IncomingHttpHeaders): Preconditions => {
  const required = readTags('If-Match', headers['if-match'])
  const excluded = readTags('If-None-Match', headers['if-none-match'])
  return {
    check: (tag) => {
      // Strong: what a weak tag names may differ in ways that count.
      const strong = required === '*' || required === undefined ? required : required.filter(({ isWeak }) => !isWeak)
      if (strong !== undefined && matched(strong, tag) === undefined) throw changed()
    },
    knownTag: (tag) => (excluded === undefined ? undefined : matched(excluded, tag)),
  }
}

/** As `Preconditions.check`, for writing: what the caller has already is not to be written either. */
export const readWritePreconditions = (headers: IncomingHttpHeaders): ((tag: string) => void) => {
  const preconditions = readPreconditions(headers)
  return (tag) => {
    preconditions.check(tag)
    if (preconditions.knownTag(tag) !== undefined)
      throw new Problem('preconditionFailed', 'it is in a state that If-None-Match excludes')
  }
}

/** For what has no tags: no state of it can be the required one. @throws Problem preconditionFailed, badRequest */
export const refuseTags = (headers: IncomingHttpHeaders): void => {
  const required = readTags('If-Match', headers['if-match'])
  if (required !== undefined && required !== '*')
    throw new Problem('preconditionFailed', 'nothing here has an ETag: leave out If-Match')
}

interface Tag {
  readonly isWeak: boolean
  readonly value: string
}

const readTags = (name: string, text: string | undefined): '*' | readonly Tag[] | undefined => {
  if (text === undefined || text.trim() === '*') return text === undefined ? undefined : '*'
  if (!TAGS.test(text))
    throw new Problem('badRequest', `${name} must be * or tags in double quotes, as the header ETag has them`, [
      { field: name, message: 'must be * or a list of tags' },
    ])
  return [...text.matchAll(TAG)].map(([, weak, value = '']) => ({ isWeak: weak !== undefined, value: `"${value}"` }))
}

const matched = (tags: '*' | readonly Tag[], tag: string): string | undefined =>
  tags === '*' ? tag : tags.find(({ value }) => value === tag || value === compressedTag(tag))?.value

const changed = (): Problem =>
  new Problem('preconditionFailed', 'it has changed since its ETag was read: read it again, and decide anew')
