/** What a layer's catalogue says of one of its errors: docs/reference/errors.md is written from it. */
export interface ErrorEntry {
  /** What has happened. */
  readonly when: string
  /** What to do. */
  readonly remedy: string
}

/** The errors of a layer by name. */
export type ErrorCatalogue = Readonly<Record<string, ErrorEntry>>

/** The class that an error extends: it has the name that logs and docs/reference/errors.md know it by, one of the layer's catalogue. */
export const errorOf = <C extends ErrorCatalogue>(
  name: keyof C & string,
): (new (
  message?: string,
  options?: ErrorOptions,
) => Error) =>
  class extends Error {
    override name: string = name
  }
