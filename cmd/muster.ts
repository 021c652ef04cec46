/** The program's first file: how V8 works is settled before anything else is loaded, for what loads it would be the first that V8 optimises. */
import { optimiseAfterStart } from '#lib/process/optimise-after-start.ts'

/** The API serves by then, unless it has much to bring up to date. */
const START_MS = 3000

if (process.argv[2] === 'api') optimiseAfterStart(START_MS)
await import('./main.ts')
