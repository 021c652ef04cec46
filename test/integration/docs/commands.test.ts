import { runsTheCommandsOf } from './commands.ts'

// Journey 1: production
// Journey 7: takeover, hive
runsTheCommandsOf('checkout', 'api', 'cluster', 'sources', 'installed', 'takeover', 'hive', 'production')
