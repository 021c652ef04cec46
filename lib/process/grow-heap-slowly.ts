import { setFlagsFromString } from 'node:v8'

/**
 * From now on V8 lets the old part of the heap grow by 2 MiB, or by 30 %, before it collects it, and not by 8 MiB at least (RUNTIME-90): of a
 * heap of 10 MiB nearly half was garbage. With a heap limit below 256 MiB, as Deployments have it, larger heaps grow by 30 % in any case.
 * Given on the command line the flag would also make the young part smaller, which takes CPU.
 */
export const growHeapSlowly = (): void => setFlagsFromString('--optimize-for-size')
