import { Command, InvalidArgumentError } from 'commander'
import { DEFAULT_NAME, readClusterState, startNamed, stopNamed } from './named/named.ts'
import { layoutOfCluster } from './named/state.ts'

/** `npm run cluster`: a local Kubernetes control plane that stays. Results go to stdout, progress to stderr. */

interface Options {
  readonly name: string
}

const clusterName = (text: string): string => {
  if (/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/.test(text)) return text
  throw new InvalidArgumentError('Use lower case letters, digits and dashes, such as "dev".')
}

const say = (line: string) => console.error(line)

const interrupted = (): AbortSignal => {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => controller.abort(new Error(`interrupted by ${name}`)))
  return controller.signal
}

const show = async (name: string): Promise<void> => {
  const { state } = await readClusterState(name)
  console.log(`"${name}" runs at ${state?.server}`)
  console.log(`  kubeconfig  ${layoutOfCluster(name).kubeconfig('admin')}`)
  console.log(`  logs        ${layoutOfCluster(name).folder}/*.log`)
  console.log(
    `  use it      export KUBECONFIG=$(npm run -s cluster -- kubeconfig${name === DEFAULT_NAME ? '' : ` --name ${name}`})`,
  )
}

const program = new Command('npm run cluster --')
  .description('Manages a local Kubernetes control plane with one simulated node: pods and Jobs run only in name.')
  .configureHelp({ showGlobalOptions: true })

const command = (name: string, description: string, action: (name: string) => Promise<void>) =>
  program
    .command(name)
    .description(description)
    .option('--name <name>', 'which cluster', clusterName, DEFAULT_NAME)
    .action((options: Options) => action(options.name))

command('start', 'start it; building its binaries takes minutes the first time', async (name) => {
  const outcome = await startNamed(name, say, interrupted())
  if (outcome === 'already running') say(`"${name}" is running already.`)
  await show(name)
})

command('stop', 'end it and remove its data', async (name) => {
  say((await stopNamed(name)) === 'stopped' ? `"${name}" is stopped and removed.` : `"${name}" is not running.`)
})

command('status', 'say how it is; exits 1 unless it runs', async (name) => {
  const { phase, state, dead } = await readClusterState(name)
  if (phase === 'running') await show(name)
  else if (phase === 'broken') {
    console.log(
      `"${name}" is broken: ${dead.join(', ') || 'its start was interrupted'}. "npm run cluster -- start" repairs it.`,
    )
  } else console.log(`"${name}" is not running. "npm run cluster -- start" starts it.`)
  for (const { part, pid } of state?.processes ?? [])
    console.log(`  ${dead.includes(part) ? 'dead' : 'runs'}  ${part} (${pid})`)
  if (phase !== 'running') process.exitCode = 1
})

command('kubeconfig', 'print the path of its kubeconfig, for KUBECONFIG', async (name) => {
  const { phase } = await readClusterState(name)
  if (phase === 'running') console.log(layoutOfCluster(name).kubeconfig('admin'))
  else {
    say(`"${name}" is ${phase === 'broken' ? 'broken' : 'not running'}: start it with "npm run cluster -- start".`)
    process.exitCode = 1
  }
})

try {
  await program.parseAsync()
} catch (error) {
  say(`cluster: ${(error as Error).message}`)
  process.exitCode = 1
}
