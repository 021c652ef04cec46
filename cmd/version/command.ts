import { Command } from 'commander'
import { flag } from '#operator/flags/flag.ts'
import { oneOf } from '#operator/flags/values.ts'
import { buildInfo } from '../build-info.ts'
import { addFlags, readFlags } from '../flag.ts'

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
