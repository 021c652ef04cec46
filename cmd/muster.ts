/** The program's first file: how V8 works is settled before anything else is loaded, for what loads it would be the first that V8 optimises. */
import { optimiseAfterStart } from '#lib/process/optimise-after-start.ts'

/**
 * Until the API serves, unless it has much to bring up to date; until a manager's caches are filled, unless they are large. Maglev, the
 * compiler between the quick and the thorough one, would keep 10 MB of an API under load for good (docs/benchmarks.md).
 */
const start: Readonly<Record<string, () => void>> = {
  api: () => optimiseAfterStart(3000, ['sparkplug', 'opt']),
  manager: () => optimiseAfterStart(1000),
}

start[process.argv[2] ?? '']?.()
await import('./main.ts')
