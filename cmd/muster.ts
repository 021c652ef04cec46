/** The program's first file: how V8 works is settled before anything else is loaded, for what loads it would be the first that V8 optimises. */
import { optimiseAfterStart } from '#lib/process/optimise-after-start.ts'

/** Milliseconds until the API serves, unless it has much to bring up to date, and until a manager's caches are filled, unless they are large. */
const START_MS: Readonly<Record<string, number>> = { api: 3000, manager: 1000 }

const start = START_MS[process.argv[2] ?? '']
if (start !== undefined) optimiseAfterStart(start)
await import('./main.ts')
