import { errorOf } from '#lib/errors/error-of.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import { MAX_ANSWER_BYTES } from './heap-shares.ts'

/** An answer or a line of a watch that is larger than any can be: it is not read to its end. */
export class AnswerTooLargeError extends errorOf(OPERATOR_ERRORS, 'AnswerTooLargeError') {
  constructor(what: string, maxBytes: number) {
    super(`${what} is larger than ${maxBytes} bytes`)
  }
}

/** The text of a body. @throws AnswerTooLargeError */
export const readText = async (body: AsyncIterable<Buffer>, maxBytes = MAX_ANSWER_BYTES): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new AnswerTooLargeError('an answer', maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
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
