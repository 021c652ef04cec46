import { onPath } from '../cluster/programs.ts'
import type { Installable } from '../debian/install.ts'

/** Why no unit can be checked here, and what to do; undefined when one can. The services need not run. */
const systemdMissing = (): string | undefined =>
  onPath('systemd-analyze') === undefined || onPath('systemctl') === undefined
    ? 'systemd is not installed: "apt-get install systemd" (Debian)'
    : undefined

export const SYSTEMD: Installable = { title: 'systemd', package: 'systemd', missing: systemdMissing }
