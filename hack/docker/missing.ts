import { onPath } from '../cluster/programs.ts'
import type { Installable } from '../debian/install.ts'
import { namespacesMissing } from '../process/namespaces.ts'

/** What starts containers in tests, in namespaces of its own: the machine's own engine, if there is one, is left alone. */
export const DOCKER: Installable = {
  title: 'Docker',
  package: 'docker.io',
  missing: () =>
    onPath('dockerd') === undefined || onPath('runc') === undefined
      ? 'dockerd is not installed: "apt-get install docker.io" (Debian), as root'
      : undefined,
}

/** Why no Docker engine of our own can be started here, and what to do; undefined when one can. */
export const dockerMissing = (): string | undefined => {
  if (process.platform !== 'linux')
    return 'A Docker engine of its own needs namespaces of Linux: use a machine with Linux'
  if (process.getuid?.() !== 0) return 'A Docker engine of its own is for root: run the tests as root'
  return DOCKER.missing() ?? namespacesMissing()
}
