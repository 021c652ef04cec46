/** A release that can't be made from this checkout. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError'
}

/**
 * The part of CHANGELOG.md about one version, without its heading.
 * @throws ReleaseError when there is none, or nothing in it
 */
export const notesOf = (changelog: string, version: string): string => {
  const parts = changelog.split(/^## /m).slice(1)
  const [, ...lines] = parts.find((part) => part.split(/\s/, 1)[0] === version)?.split('\n') ?? []
  const notes = lines.join('\n').trim()
  if (notes === '')
    throw new ReleaseError(
      `CHANGELOG.md says nothing of ${version}: move what stands under "## Unreleased" below "## ${version}", and commit`,
    )
  return `${notes}\n`
}
