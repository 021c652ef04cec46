import { PAGE_BYTES } from './page-row.ts'

/** Takes the one column of every row of a statement, value by value, as they come. */
export interface ValueSink {
  /** A value begins. @param length its bytes; undefined where there is none */
  begin(length: number | undefined): void
  /** More of the value that has begun. The bytes are good until this returns: what comes next is read to the same place. */
  take(bytes: Buffer, from: number, to: number): void
  /** A whole value, of a database that gives texts. */
  takeText(text: string | null): void
}

/** Bytes that are free before the documents, and behind them: for the rest of an answer. */
const MARGIN = 128
/** Between documents, and for the row of numbers. */
const COMMAS = 1_024
const SIZE = MARGIN + PAGE_BYTES + COMMAS + MARGIN
/** Most buffers that wait to be used again: 4 MiB, of which the system has given what pages have filled. */
const MAX_IDLE = 8

/**
 * Buffers of pages that were sent. A page has up to 512 KiB outside of V8's heap; made for each one they are old by the time that V8
 * collects, and come to tens of megabytes. The one that was used last is taken first: the processor's cache has it.
 */
const idle: Buffer[] = []

const COMMA = ','.charCodeAt(0)
const OPENING_BRACE = '{'.charCodeAt(0)

/**
 * The documents of a page, one after the other with commas between them, in one buffer that is used again (API-175). One row of such a
 * statement has numbers instead of a document, nothing says which; a row without a value stands for a document that is too long.
 */
export class PageBuffer implements ValueSink {
  #bytes: Buffer | undefined
  /** Where each document ends. */
  readonly #ends: number[] = []
  /** Where the value that comes begins, where its next byte goes, and how many are to come. */
  #begin = MARGIN
  #at = MARGIN
  #missing = 0
  #numbers: string | undefined
  #isWhole = true

  /** What the row of numbers says. */
  get numbers(): string | undefined {
    return this.#numbers
  }

  /** Whether every document is there. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** How many documents there are. */
  get count(): number {
    return this.#ends.length
  }

  begin(length: number | undefined): void {
    const last = this.#ends.at(-1)
    this.#begin = last === undefined ? MARGIN : last + 1
    this.#at = this.#begin
    const fits = length !== undefined && length > 0 && this.#begin + length <= SIZE - MARGIN
    this.#missing = fits ? length : 0
    if (!fits) this.#isWhole = false
  }

  take(bytes: Buffer, from: number, to: number): void {
    if (this.#missing === 0) return
    bytes.copy(this.#buffer(), this.#at, from, to)
    this.#advance(to - from)
  }

  takeText(text: string | null): void {
    this.begin(text === null ? undefined : Buffer.byteLength(text))
    if (text !== null && this.#missing > 0) this.#advance(this.#buffer().write(text, this.#at))
  }

  /** Each document by itself, as text. */
  documents(): string[] {
    const bytes = this.#buffer()
    return this.#ends.map((end, index) =>
      bytes.toString('utf8', index === 0 ? MARGIN : (this.#ends[index - 1] ?? 0) + 1, end),
    )
  }

  /** The documents with what stands before and behind them, at most MARGIN bytes of ASCII each: the buffer's own bytes, good until it is given back. */
  frame(before: string, after: string): Buffer {
    const bytes = this.#buffer()
    const end = this.#ends.at(-1) ?? MARGIN
    const start = MARGIN - before.length
    bytes.write(before, start, 'latin1')
    bytes.write(after, end, 'latin1')
    return bytes.subarray(start, end + after.length)
  }

  /** The next page may use the buffer. To be called when nothing reads its bytes any more, or not at all: then it is collected. */
  giveBack(): void {
    const bytes = this.#bytes
    this.#bytes = undefined
    if (bytes !== undefined && idle.length < MAX_IDLE) idle.push(bytes)
  }

  #buffer(): Buffer {
    this.#bytes ??= idle.pop() ?? Buffer.allocUnsafeSlow(SIZE)
    return this.#bytes
  }

  #advance(length: number): void {
    this.#at += length
    this.#missing -= length
    if (this.#missing > 0) return
    const bytes = this.#buffer()
    if (bytes[this.#begin] !== OPENING_BRACE) {
      this.#numbers = bytes.toString('latin1', this.#begin, this.#at)
      return
    }
    if (this.#ends.length > 0) bytes[this.#begin - 1] = COMMA
    this.#ends.push(this.#at)
  }
}
