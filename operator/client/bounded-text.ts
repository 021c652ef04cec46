import type { Readable } from 'node:stream'
import { errorOf } from '#lib/errors/error-of.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import { MAX_ANSWER_BYTES } from './heap-shares.ts'
import type { Movement } from './moving.ts'

/** An answer or a line of a watch that is larger than any can be: it is not read to its end. */
export class AnswerTooLargeError extends errorOf(OPERATOR_ERRORS, 'AnswerTooLargeError') {
  constructor(what: string, maxBytes: number) {
    super(`${what} is larger than ${maxBytes} bytes`)
  }
}

/**
 * The text of a body, which is destroyed when it is given up. By events: three iterators around each other took a twentieth of what a
 * request allocates.
 * @throws AnswerTooLargeError, AnswerTooSlowError, what the body broke with
 */
export const readText = (body: Readable, movement: Movement, maxBytes = MAX_ANSWER_BYTES): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer): void => {
      size += chunk.length
      if (size > maxBytes) throw new AnswerTooLargeError('an answer', maxBytes)
      chunks.push(chunk)
      movement.came(chunk.length)
    }
    body.on('data', (chunk: Buffer) => {
      try {
        take(chunk)
      } catch (error) {
        reject(error)
        body.destroy()
      }
    })
    body.once('end', () => resolve(textOf(chunks)))
    body.once('error', reject)
    const isCut = (): void => reject(body.errored ?? new Error('the connection was closed within the answer'))
    body.once('close', isCut)
    // What happened to it before is told only once.
    if (body.closed) isCut()
  })

const textOf = (chunks: readonly Buffer[]): string => {
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first.toString() : Buffer.concat(chunks).toString()
}

/** Reads a page, in halves of its size until one fits. @param page its size goes down for the pages after it too @throws what `fetch` throws */
export const readPageThatFits = async <P>(page: { size: number }, fetch: (size: number) => Promise<P>): Promise<P> => {
  for (;;) {
    try {
      return await fetch(page.size)
    } catch (error) {
      if (!(error instanceof AnswerTooLargeError) || page.size <= 1) throw error
      page.size = Math.floor(page.size / 2)
    }
  }
}
