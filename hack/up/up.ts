/**
 * `npm run up`: a cluster, the API, NATS and the managers, with samples, until Ctrl-C.
 * The steps are in steps.ts; what is shown is in screen.ts.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { stateFolder } from '../cluster/named/state.ts'
import { findKubectl, onPath } from '../cluster/programs.ts'
import { sweepFoldersOfTheDead } from '../process/owners.ts'
import { hints, tabulateObjects } from './hints.ts'
import { progressTable } from './progress.ts'
import { createRun, Interrupted } from './run.ts'
import { screenFor } from './screen.ts'
import { bringUp } from './steps.ts'
import { takeTurn } from './turn.ts'

interface Options {
  readonly once?: true
  readonly realClusters: boolean
  readonly kubeconfig?: string
  readonly context?: string
}

const HELP = `
Where the cluster comes from, the first that serves:
  --kubeconfig or --context, KUBEBUILDER_ASSETS, "npm run cluster", the local control plane when it is built,
  kind in Docker, the local control plane built with Go.
MUSTER_CLUSTER=kind, local or the name of a context leaves no other choice.

On the local control plane, and on kind where Docker is on this Linux, there is a pool of two real clusters besides, and a claim that
has one of them: docs/get-a-cluster.md.
They take 0.4 GB of memory each while they run. --no-real-clusters leaves them out.

It ends with Ctrl-C, which stops what it started and removes what it added. A second Ctrl-C does not wait.
`

const program = new Command('npm run up --')
  .description(
    'Brings up a cluster, the HyperFleet API, NATS and the managers, applies samples, and shows how they get on.',
  )
  .option('--once', 'end when the samples have reached their goal; exit 0, or 1 with the reason')
  .option('--no-real-clusters', 'make no pool of real clusters: saves up to 1 GB of memory')
  .option('--kubeconfig <file>', 'use the cluster of this kubeconfig')
  .option('--context <name>', 'use this context of the kubeconfig')
  .addHelpText('after', HELP)
  .allowExcessArguments(false)
  .parse()

const { once, realClusters, ...request } = program.opts<Options>()

const INTERRUPTED = 130
/** A terminal, npm and hack/run.mjs may each deliver the same Ctrl-C; later than this it is another one. Milliseconds. */
const SAME_INTERRUPT = 1_000

const screen = screenFor(process.stdout)
const run = createRun(screen)
let interruptedAt: number | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (interruptedAt !== undefined && performance.now() - interruptedAt > SAME_INTERRUPT) process.exit(INTERRUPTED)
    interruptedAt ??= performance.now()
    run.abort(new Interrupted(signal))
  })
}

const ended = (): Promise<Error> =>
  new Promise((resolve) => {
    const end = () => resolve(run.signal.reason as Error)
    if (run.signal.aborted) end()
    else run.signal.addEventListener('abort', end)
  })

const main = async (): Promise<number> => {
  const home = join(stateFolder(), 'up')
  await sweepFoldersOfTheDead()
  const endTurn = await takeTurn(join(home, 'turn.json'))
  run.undo(undefined, endTurn)
  const logs = join(home, 'logs')
  await rm(logs, { recursive: true, force: true })
  await mkdir(logs, { recursive: true, mode: 0o700 })

  const up = await bringUp(run, screen, { request, logs, once: once === true, realClusters })
  screen.print('', ...progressTable(up.observations), '', await tabulateObjects(up.cluster))
  if (once) return 0
  screen.print(...hints(up, logs, onPath('kubectl') === undefined ? (findKubectl() ?? 'kubectl') : 'kubectl'))

  screen.begin('All goes on; Ctrl-C ends')
  const reason = await ended()
  if (reason instanceof Interrupted) return 0
  throw reason
}

let code = 1
try {
  code = await main()
} catch (error) {
  if (error instanceof Interrupted) code = INTERRUPTED
  else screen.print(`npm run up: ${(error as Error).message}`)
}
await run.finish()
process.exit(code)
