/**
 * What of a manifest says which object it is: its apiVersion, kind and namespace. That is enough to find and delete it by its discovery,
 * so a mistake in the rest of a manifest, or in what it is filled with, holds up no deletion.
 */

/** Of a manifest that is an object. */
export const extractIdentity = (manifest: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const { metadata } = manifest
  const place = typeof metadata === 'object' && metadata !== null ? pick(metadata, ['namespace']) : {}
  return { ...pick(manifest, ['apiVersion', 'kind']), metadata: place }
}

const pick = (from: object, keys: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(from).filter(([key]) => keys.includes(key)))

/** An action that decides about other lines, or names a value for them: which lines there are shows only when all are rendered. */
const CONTROL_ACTION = /\{\{-?\s*(?:if|else|end|range|with|define|template|block|break|continue|\$)/
const TOP_LEVEL_KEY = /^(apiVersion|kind|metadata)[ \t]*:[ \t]*(.*)$/
/** A value that stands on the line of its key, and takes no other line with it. */
const SINGLE_LINE_VALUE = /^[^|>&*!\s](?!.*-\}\}\s*$)/

/** Of a manifest that is a text with templates; undefined when the lines that matter do not stand by themselves. */
export const extractIdentityText = (text: string): string | undefined => {
  const lines = text.split('\n')
  const at = (key: string) => lines.findIndex((line) => TOP_LEVEL_KEY.exec(line)?.[1] === key)
  const [apiVersion, kind, metadata] = [at('apiVersion'), at('kind'), at('metadata')]
  if (apiVersion < 0 || kind < 0 || metadata < 0 || valueAt(lines, metadata) !== '') return undefined
  const namespace = namespaceAt(lines, metadata)
  const expected = [apiVersion, kind, ...(namespace === undefined ? [] : [namespace])]
  const end = Math.max(...expected, endOf(lines, metadata))
  const ahead = lines.slice(0, end)
  if (
    ahead.some((line) => CONTROL_ACTION.test(line)) ||
    !expected.every((index) => SINGLE_LINE_VALUE.test(valueAt(lines, index)))
  )
    return undefined
  const place = namespace === undefined ? [] : [lines[metadata], lines[namespace]]
  return [lines[apiVersion], lines[kind], ...place].join('\n')
}

/** What stands behind the colon; comments count as nothing. */
const valueAt = (lines: readonly string[], index: number): string =>
  (lines[index] ?? '')
    .replace(/^[^:]*:[ \t]*/, '')
    .replace(/^#.*/, '')
    .trimEnd()

/** The first line behind a top-level key that is not inside it. */
const endOf = (lines: readonly string[], key: number): number => {
  const next = lines.findIndex((line, index) => index > key && /^\S/.test(line))
  return next < 0 ? lines.length : next
}

const namespaceAt = (lines: readonly string[], metadata: number): number | undefined => {
  const inside = lines.slice(metadata + 1, endOf(lines, metadata))
  const indent = /^ +/.exec(inside.find((line) => line.trim() !== '') ?? '')?.[0] ?? ''
  const found = inside.findIndex(
    (line) => line.startsWith(indent) && /^namespace[ \t]*:/.test(line.slice(indent.length)),
  )
  return found < 0 ? undefined : metadata + 1 + found
}
