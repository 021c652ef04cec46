import { Command } from 'commander'
import { flag, type Values } from '#operator/flags/flag.ts'
import { oneOf, urlOf } from '#operator/flags/values.ts'
import { addFlags, readFlags } from '../flag.ts'
import { hyperfleetApiCa, renamedApiTokenFile } from '../hyperfleet-api-flags.ts'

export const whyFlags = {
  hyperfleetApiUrl: {
    ...flag('URL', 'the HyperFleet API, without a path', urlOf('http', 'https'), 'http://127.0.0.1:8000'),
    formerly: ['apiUrl'],
  },
  hyperfleetApiTokenFile: renamedApiTokenFile,
  hyperfleetApiCa,
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
}

export type WhyOptions = Values<typeof whyFlags>

const EXAMPLES = `
Examples:
  muster why clusters/boston
  muster why Cluster/019c1398-6a00-7000-8d4e-0242ac120002 --hyperfleet-api-url=https://hyperfleet.example.com --hyperfleet-api-token-file=token

Nothing is changed. Exit codes: 0 it waits for nothing, 1 it waits for something, 2 what was asked for can't be meant, 3 it could not look.
`

export const whyCommand = (): Command =>
  addFlags(new Command('why'), whyFlags)
    .argument('<resource>', 'KIND/NAME or KIND/ID, such as clusters/boston or Cluster/boston')
    .description('print what a resource of the HyperFleet API waits for, and why')
    .addHelpText('after', EXAMPLES)
    .action(async (resource: string, _options: object, command: Command) => {
      const options = readFlags(command, whyFlags)
      const { explainResource } = await import('./explain-resource.ts')
      const { text, isWaiting } = await explainResource(resource, options)
      process.stdout.write(text)
      if (isWaiting) process.exitCode = 1
    })
