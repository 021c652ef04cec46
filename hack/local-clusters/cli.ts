/** `npm run local-clusters`: real Kubernetes clusters by an HTTP API, as a cloud gives them: docs/providers.md. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from 'commander'
import Type from 'typebox'
import { Value } from 'typebox/value'
import { parseDuration } from '#operator/model/duration.ts'
import { CONTROL_PLANE } from '../controlplane/binaries.ts'
import { ensureBinaries } from '../gobuild/build.ts'
import { SetupError } from '../process/errors.ts'
import { guardFolder } from '../process/reaper.ts'
import { LocalClusters, type Project } from './clusters.ts'
import { createServer } from './server.ts'

interface Options {
  readonly folder: string
  readonly port: string
  readonly projects: string
  readonly binaries?: string
  readonly certificateValidity: string
  readonly temporary?: true
}

const projectsFile = Type.Array(
  Type.Object(
    {
      project: Type.String({ minLength: 1 }),
      token: Type.String({ minLength: 16 }),
      clusters: Type.Integer({ minimum: 0 }),
    },
    { additionalProperties: false },
  ),
  { minItems: 1 },
)

/** @throws SetupError */
const readProjects = async (file: string): Promise<readonly Project[]> => {
  const projects: unknown = JSON.parse(await readFile(file, 'utf8'))
  if (Value.Check(projectsFile, projects)) return projects
  const [first] = Value.Errors(projectsFile, projects)
  throw new SetupError(
    `${file}${first?.instancePath} ${first?.message}: write [{"project": "…", "token": "…", "clusters": 3}]`,
  )
}

/** A third of it is left for the renewed kubeconfig to come to its Secret: with the next pulse, which may be half an hour away. CLUSTER-74. */
const MIN_VALIDITY_MS = 3 * 3_600_000

const serve = async (options: Options): Promise<void> => {
  const validityMs = parseDuration(options.certificateValidity)
  if (validityMs < MIN_VALIDITY_MS)
    throw new SetupError(
      `--certificate-validity is ${options.certificateValidity}: kubeconfigs would end before users have the next one. Write 3h or more`,
    )
  const folder = resolve(options.folder)
  const guarded = options.temporary === true
  if (guarded) guardFolder(folder)
  const projects = await readProjects(options.projects)
  const binaries = options.binaries ?? (await ensureBinaries(CONTROL_PLANE, console.error))
  const clusters = await LocalClusters.open({ folder, binaries, validityMs, guarded, onProblem: console.error })
  const app = createServer(clusters, projects)
  const end = async () => {
    await app.close()
    await clusters.close()
    process.exit()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end())
  console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: Number(options.port) })}`)
}

const program = new Command('npm run local-clusters --')
  .description('Gives real Kubernetes clusters on this machine by an HTTP API, as a cloud does.')
  .requiredOption('--folder <path>', 'where everything is kept')
  .requiredOption('--projects <file>', 'JSON: [{"project": "…", "token": "…", "clusters": 3}]')
  .option(
    '--binaries <folder>',
    'of etcd, kube-apiserver and kube-controller-manager; when left out, they are built with Go',
  )
  .option('--port <number>', 'of 127.0.0.1', '8470')
  .option('--certificate-validity <duration>', 'of the certificates of a cluster, which are renewed before', '720h')
  .option('--temporary', 'the clusters and the folder end with the service')
  .allowExcessArguments(false)
  .action(serve)

try {
  await program.parseAsync()
} catch (error) {
  console.error(`local-clusters: ${(error as Error).message}`)
  process.exitCode = 1
}
