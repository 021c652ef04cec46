import { onPath } from '../cluster/programs.ts'
import type { Installable } from '../debian/install.ts'

const NEEDED = ['podman', 'runc'] as const

const packaged = (name: (typeof NEEDED)[number], title: string): Installable => ({
  title,
  package: name,
  missing: () =>
    onPath(name) === undefined ? `${title} is not installed: "apt-get install ${name}" (Debian), as root` : undefined,
})

/** What builds and runs the image in tests: it needs no daemon, and runc works with every version of cgroups. */
export const PODMAN: readonly Installable[] = [packaged('podman', 'Podman'), packaged('runc', 'runc')]

/** Why no image can be built here, and what to do; undefined when one can. */
export const podmanMissing = (): string | undefined =>
  process.getuid?.() === 0
    ? PODMAN.map((program) => program.missing()).find((reason) => reason !== undefined)
    : 'Containers of one’s own storage need root here: run the tests as root'
