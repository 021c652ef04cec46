import { AnswerTooLargeError } from './bounded-text.ts'
import { MAX_LINE_BYTES } from './heap-shares.ts'

const NEWLINE = 0x0a

/**
 * Splits a byte stream into its non-empty lines, wherever the chunks are cut. On bytes, not text, because a chunk may end
 * in the middle of a character. An unfinished last line is dropped: its sender died while writing it.
 * @param onPart called when more of a line has come that is not complete
 * @throws AnswerTooLargeError for a line without end: RUNTIME-53
 */
export async function* lines(
  chunks: AsyncIterable<Buffer>,
  onPart?: () => void,
): AsyncGenerator<Buffer, void, undefined> {
  let begun: Buffer[] = []
  let begunBytes = 0
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const rest = chunk.subarray(start, end)
      const line = begun.length === 0 ? rest : Buffer.concat([...begun, rest])
      begun = []
      begunBytes = 0
      start = end + 1
      if (line.length > 0) yield line
    }
    if (start < chunk.length) begun.push(chunk.subarray(start))
    begunBytes += chunk.length - start
    if (begunBytes > 0) onPart?.()
    if (begunBytes > MAX_LINE_BYTES) throw new AnswerTooLargeError('a line of a watch', MAX_LINE_BYTES)
  }
}
