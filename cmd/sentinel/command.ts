import { Command } from 'commander'
import { flag, optional, type Values } from '#operator/flags/flag.ts'
import { nonEmpty, oneOf, urlOf } from '#operator/flags/values.ts'
import { addFlags, readFlags } from '../flag.ts'
import { hyperfleetApiCa, renamedApiTokenFile } from '../hyperfleet-api-flags.ts'

export const sentinelPreviewFlags = {
  current: optional('FILE', 'the SentinelConfigs as they are, YAML; - is standard input (default: none)', nonEmpty),
  hyperfleetApiUrl: {
    ...optional(
      'URL',
      'the HyperFleet API, without a path, to read resources of (default: the one that each spec names, which is shown no token)',
      urlOf('http', 'https'),
    ),
    formerly: ['apiUrl'],
  },
  hyperfleetApiTokenFile: renamedApiTokenFile,
  hyperfleetApiCa,
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
}

export type SentinelPreviewOptions = Values<typeof sentinelPreviewFlags>

const EXAMPLES = `
Examples:
  kubectl get sentinelconfigs -o yaml | muster sentinel preview new.yaml --current -
  muster sentinel preview new.yaml --current=shards.yaml --hyperfleet-api-url=http://127.0.0.1:8000 --output=json

Nothing is changed. Exit codes: 0 the shards fit together, 1 there is an overlap or a gap, 2 a file can't be used, 3 the HyperFleet API could not be looked at.
`

/** What can be asked of Sentinels before they run. */
export const sentinelCommand = (): Command =>
  new Command('sentinel').description('look at what Sentinels would do').addCommand(
    addFlags(new Command('preview'), sentinelPreviewFlags)
      .argument('<file>', 'the SentinelConfigs as they would be, YAML')
      .description('print what SentinelConfigs would gain and lose, their pulses a minute, overlaps and gaps')
      .addHelpText('after', EXAMPLES)
      .action(async (file: string, _options: object, command: Command) => {
        const options = readFlags(command, sentinelPreviewFlags)
        const { previewSentinels } = await import('./preview.ts')
        const { text, isTroubled } = await previewSentinels(file, options)
        process.stdout.write(text)
        if (isTroubled) process.exitCode = 1
      }),
  )
