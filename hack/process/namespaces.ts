import { spawnSync } from 'node:child_process'

/** Namespaces that programs of tests are started in. */
const NEEDED = ['--net', '--pid', '--mount', '--ipc', '--fork']

/** Why no namespaces can be made here, and what to do; undefined when they can. Root in a container often may not. */
export const namespacesMissing = (): string | undefined => {
  const { status, stderr, error } = spawnSync('unshare', [...NEEDED, 'true'], { encoding: 'utf8' })
  if (status === 0) return undefined
  const why = error?.message ?? stderr.trim()
  return `Namespaces can't be made here (${why}): root needs CAP_SYS_ADMIN, in a container "--privileged"`
}
