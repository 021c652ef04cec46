import { expect, test } from 'vitest'
import { liveLine } from './live-line.ts'

const screen = (columns = 80) => {
  const written: string[] = []
  const write = (text: string) => {
    written.push(text)
    return true
  }
  const stream = { columns, write } as unknown as NodeJS.WriteStream
  return { written, stream }
}

test('what others write stands above the line, which comes again below it', () => {
  const { written, stream } = screen()
  {
    using line = liveLine([stream])
    line.show('1 of 2')
    stream.write('✓ a.test.ts\n')
    line.show('2 of 2')
  }
  stream.write('done\n')
  const clear = '\r\x1b[2K'
  expect(written).toEqual(['1 of 2', clear, '✓ a.test.ts\n', '1 of 2', clear, '2 of 2', clear, 'done\n'])
})

test('half a line of others is not cut in two', () => {
  const { written, stream } = screen()
  using line = liveLine([stream])
  stream.write('half ')
  line.show('1 of 2')
  stream.write('a line\n')
  expect(written).toEqual(['half ', 'a line\n', '1 of 2'])
})

test('a long line is cut to the width of the terminal, or it could not be cleared', () => {
  const { written, stream } = screen(5)
  using line = liveLine([stream])
  line.show('123456789')
  expect(written).toEqual(['1234'])
})
