/** The program's first file: how V8 works is settled before anything else is loaded, for what loads it would be the first that V8 optimises. */
import { growHeapSlowly } from '#lib/process/grow-heap-slowly.ts'
import { optimiseAfterStart } from '#lib/process/optimise-after-start.ts'

/** Maglev, the compiler between the quick and the thorough one, would keep 10 MB of an API under load for good (docs/benchmarks.md). */
const start: Readonly<Record<string, () => void>> = {
  api: () => optimiseAfterStart(['sparkplug', 'opt']),
  manager: () => {
    growHeapSlowly()
    optimiseAfterStart()
  },
}

start[process.argv[2] ?? '']?.()
await import('./main.ts')
