/** The program's first file: how V8 works is settled before anything else is loaded, for what loads it would be the first that V8 optimises. */
import { optimiseUnderLoad } from '#lib/process/optimise-under-load.ts'

if (process.argv[2] === 'api') optimiseUnderLoad()
await import('./main.ts')
