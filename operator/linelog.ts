import type { Logger } from './model/log.ts'

/** JSON lines on stderr: for programs that bring no logger of their own. Debug lines are left out. */
export const lineLog = (
  write: (line: string) => void = (line) => process.stderr.write(line),
  fields: object = {},
): Logger => {
  const line =
    (level: string) =>
    (message: string, more: object = {}) => {
      write(`${JSON.stringify({ time: new Date().toISOString(), level, msg: message, ...fields, ...more }, plain)}\n`)
    }
  return {
    debug: () => {},
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (more) => lineLog(write, { ...fields, ...more }),
  }
}

/** An Error has no fields of its own to print. */
const plain = (_key: string, value: unknown): unknown =>
  value instanceof Error ? (value.stack ?? value.message) : value
