import { setFlagsFromString } from 'node:v8'

/**
 * From now on V8 collects the old part of a small heap earlier than by itself, when it lets it grow by 8 MiB at least (RUNTIME-90): of a heap of
 * 18 MiB nearly half was garbage. With a heap limit below 256 MiB, as Deployments have it, larger heaps grow by a third in any case.
 * Given on the command line the flag would also make the young part smaller, which takes CPU.
 */
export const growHeapSlowly = (): void => setFlagsFromString('--optimize-for-size')
