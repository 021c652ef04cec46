import { runsTheCommandsOf } from './commands.ts'

runsTheCommandsOf('checkout', 'api', 'cluster', 'sources', 'installed', 'takeover', 'hive', 'production')
