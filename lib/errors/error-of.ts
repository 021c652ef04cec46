/** What a layer's catalogue says of one of its errors: docs/reference/errors.md is written from it. */
export interface ErrorEntry {
  /** What has happened. */
  readonly when: string
  /** What to do: a log line and the command line print it behind the message. */
  readonly remedy: string
  /** Every message of it says what to do by itself, so that the remedy is not printed again. */
  readonly inMessage?: boolean
}

/** The errors of a layer by name. */
export type ErrorCatalogue = Readonly<Record<string, ErrorEntry>>

/** An error that a catalogue has. */
export interface CataloguedError extends Error {
  /** What to do, by its entry in the catalogue; undefined when the message says it. */
  readonly remedy: string | undefined
}

/** The class that an error extends: its name is one of the layer's catalogue, and it knows what to do. A class that extends such a class states its own name. */
export const errorOf = <C extends ErrorCatalogue>(
  catalogue: C,
  name: keyof C & string,
): (new (
  message?: string,
  options?: ErrorOptions,
) => CataloguedError) =>
  class extends Error {
    override name: string = name

    get remedy(): string | undefined {
      const entry = catalogue[this.name] ?? catalogue[name]
      return entry?.inMessage ? undefined : entry?.remedy
    }
  }

/** What to do about an error, when it is in a catalogue and its message does not say so. */
export const remedyOf = (error: unknown): string | undefined =>
  error instanceof Error && 'remedy' in error && typeof error.remedy === 'string' ? error.remedy : undefined
