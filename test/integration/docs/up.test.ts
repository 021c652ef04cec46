import { runsTheCommandsOf } from './commands.ts'

// Journey 4: docs/adapter-tasks.md
/** Pages whose reader has `npm run up` running; the others are in commands.test.ts, so that both run at once. */
runsTheCommandsOf('up')
