import { Command } from 'commander'
import { addFlags, readFlags } from '../flag.ts'
import { enrollCommand } from './enroll-command.ts'
import { agentFlags } from './flags.ts'

const EXAMPLES = `
Examples:
  muster agent --device=pump-17 --nats-url=nats://nats.example:4222 --nats-credentials=pump-17.nk --labels=site=north
  muster agent --device=kiosk-3 --nats-url=nats://127.0.0.1:4222 --kubeconfig=/etc/rancher/k3s/k3s.yaml
`

export const agentCommand = (): Command =>
  addFlags(new Command('agent'), agentFlags)
    .description('run what the fleet’s Deployments want on this device')
    .addHelpText('after', EXAMPLES)
    .enablePositionalOptions()
    .addCommand(enrollCommand())
    .action(async (_options: object, command: Command) => {
      const options = readFlags(command, agentFlags)
      const { runAgentCommand } = await import('./run.ts')
      await runAgentCommand(options)
    })
