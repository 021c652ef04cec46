import { accessSync, constants } from 'node:fs'

/** The program of util-linux that gives up rights; undefined where there is none. Not by PATH: it runs with all rights of the agent. */
export const findSetpriv = (): string | undefined =>
  process.platform === 'linux'
    ? ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv'].find(isExecutable)
    : undefined

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
