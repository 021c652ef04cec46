/**
 * Calico on kind, for clusters whose NetworkPolicies are to be enforced: an add-on, because most tests need none. Its own images are in
 * no package, so its two programs are built, and its CNI plugin takes the place of the network that every node has.
 */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { load } from 'js-yaml'
import type { Say } from '../cache/make-once.ts'
import type { KindCluster } from '../cluster/kind/provider.ts'
import { ensureBinaries } from '../gobuild/build.ts'
import type { BinarySet } from '../gobuild/set.ts'
import { ensureArchive } from '../image/local/archive-cache.ts'
import { shell, users } from '../image/local/programs.ts'

const run = promisify(execFile)

/** Calico's CNI plugin, and the program that turns policies into rules of iptables and sets of addresses. */
export const CALICO = {
  title: 'Calico',
  name: 'calico',
  module: join(import.meta.dirname, 'calico'),
  // Of the commit that go.mod names: its own numbers are not those of Go modules.
  version: 'v3.28.5',
  packages: {
    calico: 'github.com/projectcalico/calico/cni-plugin/cmd/calico',
    'calico-felix': 'github.com/projectcalico/calico/felix/cmd/calico-felix',
  },
  flags: ['-trimpath', '-ldflags', '-s -w'],
} as const satisfies BinarySet

const MODULE = 'github.com/projectcalico/calico'

/** As files/calico.yaml names it. */
const TAG = 'docker.io/muster/calico:local'

/** An archive of the image that its DaemonSet runs, from the cache where that has it. @returns its path */
const ensureCalicoImage = async (say: Say): Promise<string> => {
  const folder = await ensureBinaries(CALICO, say)
  const programs = ['calico', 'calico-felix'].map((name) => [`/calico/${name}`, { from: join(folder, name) }] as const)
  const entries = { ...users({}), ...(await shell()), ...Object.fromEntries(programs) }
  return ensureArchive({ name: 'calico', tag: TAG, entries }, say)
}

/** Its kinds, which the sources bring. */
const kinds = async (): Promise<readonly object[]> => {
  const options = { cwd: CALICO.module, env: { ...process.env, GOFLAGS: '-mod=readonly' } }
  await run('go', ['mod', 'download', MODULE], options)
  const { stdout } = await run('go', ['list', '-m', '-f', '{{.Dir}}', MODULE], options)
  const folder = join(stdout.trim(), 'libcalico-go/config/crd')
  const files = (await readdir(folder)).toSorted()
  return Promise.all(files.map(async (name) => load(await readFile(join(folder, name), 'utf8')) as object))
}

/** From now on NetworkPolicies are enforced for pods that are made. Those that are there already are not asked. */
export const enforcePolicies = async ({ kubectl, load: loadImage }: KindCluster, say: Say): Promise<void> => {
  await loadImage(await ensureCalicoImage(say))
  const definitions = (await kinds()).map((kind) => JSON.stringify(kind))
  await kubectl(['apply', '--server-side', '--filename=-'], { input: definitions.join('\n---\n') })
  await kubectl(['wait', 'crds', '--all', '--for=condition=Established', '--timeout=120s'])
  const manifest = await readFile(join(import.meta.dirname, 'files/calico.yaml'), 'utf8')
  await kubectl(['apply', '--server-side', '--filename=-'], { input: manifest })
  await kubectl(['rollout', 'status', 'daemonset/calico', '--namespace=kube-system', '--timeout=300s'])
}
