import { styleText } from 'node:util'
import { createLogUpdate } from 'log-update'

/** What people see of the progress. */
export interface Screen {
  /** A step begins. */
  begin(title: string): void
  /** Something about the step that is under way. */
  note(line: string): void
  /** The step ended well; a result of few words. */
  done(result: string): void
  /** The step ended badly. */
  failed(): void
  /** News: lines that stay, and a picture of how things are now that replaces the one before. */
  showProgress(lines: readonly string[], picture: readonly string[]): void
  /** Lines that stay. */
  print(...lines: readonly string[]): void
}

/** Plain lines, each written once: for logs and pipes. */
export const plainScreen = (write: (line: string) => void): Screen => {
  let title = ''
  return {
    begin: (next) => {
      title = next
      write(`… ${title}`)
    },
    note: (line) => write(`    ${line.trim()}`),
    done: (result) => write(`✓ ${title}${result === '' ? '' : `: ${result}`}`),
    failed: () => write(`✗ ${title}`),
    showProgress: (lines) => write(lines.map((line) => `    ${line}`).join('\n')),
    print: (...lines) => write(lines.join('\n')),
  }
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const FRAME = 100

/** For a terminal: finished steps stay, the one under way moves, with its last notes or the picture below. */
const liveScreen = (terminal: NodeJS.WriteStream): Screen => {
  const update = createLogUpdate(terminal)
  let title: string | undefined
  let below: readonly string[] = []
  let frame = 0
  const draw = () => {
    if (title === undefined) return
    const head = [`${styleText('cyan', SPINNER[frame++ % SPINNER.length] ?? '')} ${title}`]
    update([...head, ...below.map((line) => `    ${styleText('dim', line)}`)].join('\n'))
  }
  const timer = setInterval(draw, FRAME)
  timer.unref()
  const end = (mark: string, line: string) => {
    title = undefined
    below = []
    update(`${mark} ${line}`)
    update.done()
  }
  return {
    begin: (next) => {
      title = next
      below = []
      draw()
    },
    note: (line) => {
      below = [...below, line.trim()].slice(-4)
      draw()
    },
    done: (result) => end(styleText('green', '✓'), `${title}${result === '' ? '' : styleText('dim', `: ${result}`)}`),
    failed: () => end(styleText('red', '✗'), title ?? ''),
    showProgress: (_, picture) => {
      below = picture
      draw()
    },
    print: (...lines) => {
      update.clear()
      terminal.write(`${lines.join('\n')}\n`)
    },
  }
}

/** A terminal of no size, as some runners have, can't be drawn on. */
export const screenFor = (terminal: NodeJS.WriteStream): Screen =>
  terminal.isTTY && terminal.columns > 0 && terminal.rows > 0 && process.env.CI === undefined
    ? liveScreen(terminal)
    : plainScreen((line) => console.log(line))
