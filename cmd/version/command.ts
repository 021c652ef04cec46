import { Command } from 'commander'
import { buildInfo } from '../build-info.ts'
import { addFlags, flag, readFlags } from '../flag.ts'
import { oneOf } from '../values.ts'

export const versionFlags = { output: flag('FORMAT', 'text or json', oneOf('text', 'json'), 'text') }

export const versionCommand = (): Command =>
  addFlags(new Command('version'), versionFlags)
    .description('print what was built, from which commit')
    .action((_options: object, command: Command) => {
      const { output } = readFlags(command, versionFlags)
      const info = { ...buildInfo(), node: process.version }
      const text = `muster ${info.version} (commit ${info.commit}, Node.js ${info.node})`
      process.stdout.write(`${output === 'json' ? JSON.stringify(info) : text}\n`)
    })
