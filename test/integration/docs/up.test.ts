import { runsTheCommandsOf } from './commands.ts'

/** Pages whose reader has `npm run up` running; the others are in commands.test.ts, so that both run at once. */
runsTheCommandsOf('up')
