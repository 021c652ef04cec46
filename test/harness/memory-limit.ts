import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { guardCgroup } from '#hack/process/reaper.ts'

const VERSION_1 = '/sys/fs/cgroup/memory'
const VERSION_2 = '/sys/fs/cgroup'

const isVersion1 = (): boolean => existsSync(join(VERSION_1, 'memory.limit_in_bytes'))

/** Why no process can be held to a memory limit here; undefined when one can. */
export const memoryLimitMissing = (): string | undefined => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'Memory is limited by root on Linux alone'
  return isVersion1() || existsSync(join(VERSION_2, 'memory.stat')) ? undefined : 'There is no control group for memory'
}

/** A control group as kubelet makes it for a container with a memory limit. */
export interface MemoryLimit {
  /** Put before a command, it runs in it. */
  readonly prefix: readonly string[]
  /** The most that it had, with what the kernel keeps for its files, in bytes. */
  peak(): Promise<number>
  /** How many of its processes were killed for want of memory. */
  kills(): Promise<number>
}

/** @param bytes of the limit; there is no swap beside it */
export const memoryLimit = async (bytes: number): Promise<MemoryLimit> => {
  const name = `muster-memory-${randomBytes(6).toString('hex')}`
  const folder = join(isVersion1() ? VERSION_1 : VERSION_2, name)
  guardCgroup(name)
  await mkdir(folder)
  if (isVersion1()) await writeFile(join(folder, 'memory.limit_in_bytes'), String(bytes))
  else
    for (const [file, value] of [
      ['memory.max', bytes],
      ['memory.swap.max', 0],
    ] as const)
      await writeFile(join(folder, file), String(value))
  const read = (file: string) => readFile(join(folder, file), 'utf8')
  return {
    prefix: ['sh', '-c', `echo $$ > ${folder}/cgroup.procs; exec "$@"`, 'sh'],
    peak: async () => Number(await read(isVersion1() ? 'memory.max_usage_in_bytes' : 'memory.peak')),
    kills: async () =>
      Number(/^oom_kill (\d+)$/m.exec(await read(isVersion1() ? 'memory.oom_control' : 'memory.events'))?.[1]),
  }
}
