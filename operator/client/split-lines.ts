const NEWLINE = 0x0a

/**
 * Splits a byte stream into its non-empty lines, wherever the chunks are cut. On bytes, not text, because a chunk may end
 * in the middle of a character. An unfinished last line is dropped: its sender died while writing it.
 */
export async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let begun: Buffer[] = []
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const rest = chunk.subarray(start, end)
      const line = begun.length === 0 ? rest : Buffer.concat([...begun, rest])
      begun = []
      start = end + 1
      if (line.length > 0) yield line
    }
    if (start < chunk.length) begun.push(chunk.subarray(start))
  }
}
