/** What an agent tells of its machine. Nothing in it changes by the minute: equal content is written once. */
import { arch, cpus, hostname, release, totalmem, type } from 'node:os'

export const machineInventory = (): Readonly<Record<string, string>> => ({
  arch: arch(),
  os: type(),
  kernel: release(),
  hostname: hostname(),
  cpus: String(cpus().length),
  memoryMiB: String(Math.round(totalmem() / 2 ** 20)),
})
