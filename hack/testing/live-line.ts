/** The last line of a terminal, always up to date, below everything else that is written. */
export interface LiveLine extends Disposable {
  show(text: string): void
}

/** A stream that others write to as well. */
type Shared = Pick<NodeJS.WriteStream, 'write' | 'columns'>

const CLEAR = '\r\x1b[2K'

/** Keeps a live line until it is disposed of. @param streams all that end on the same terminal; the first carries the line */
export const liveLine = (streams: readonly [Shared, ...Shared[]]): LiveLine => {
  const [own] = streams
  const write = own.write.bind(own)
  const originals = streams.map((stream) => stream.write)
  let line = ''
  // What others write may end within a line: then ours would cut it in two.
  let atLineStart = true

  const draw = () => {
    if (atLineStart && line !== '') write(line.slice(0, (own.columns ?? 80) - 1))
  }
  for (const stream of streams) {
    const original = stream.write.bind(stream)
    stream.write = ((chunk: string | Uint8Array, ...rest: never[]) => {
      if (atLineStart && line !== '') write(CLEAR)
      const done = original(chunk, ...rest)
      atLineStart = chunk.at(-1) === '\n' || chunk.at(-1) === 10
      draw()
      return done
    }) as Shared['write']
  }
  return {
    show: (text) => {
      if (atLineStart && line !== '') write(CLEAR)
      line = text
      draw()
    },
    [Symbol.dispose]: () => {
      if (atLineStart && line !== '') write(CLEAR)
      streams.forEach((stream, index) => {
        stream.write = originals[index] as Shared['write']
      })
    },
  }
}
