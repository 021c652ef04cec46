/** What a container engine might change on the machine, as it is now. */
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, readlinkSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Settings that the kernel itself changes all the time, or gives at random. */
const VOLATILE =
  /^\/proc\/sys\/(fs\/(quota\/.*|.*-nr|.*-state|.*inode-nr|aio-nr)|kernel\/(random\/.*|ns_last_pid|pty\/nr|perf_.*rate)|net\/netfilter\/nf_conntrack_count)$/

/** By their paths in /proc/sys; what can't be read is left out. */
const settings = (): Readonly<Record<string, string>> => {
  const read = (file: string) => {
    try {
      return [[file, readFileSync(file, 'utf8')] as const]
    } catch {
      return []
    }
  }
  return Object.fromEntries(
    globSync('/proc/sys/**')
      .filter((file) => !VOLATILE.test(file))
      .flatMap(read),
  )
}

const output = async (command: string, ...args: readonly string[]): Promise<string> =>
  (await run(command, [...args], { maxBuffer: 64 * 1024 * 1024 })).stdout

/** Rules without their counters and times. */
const rules = async (command: string): Promise<string> =>
  (await output(command)).replaceAll(/^#.*$/gm, '').replaceAll(/\[\d+:\d+\]/g, '')

/** Control groups but those of other engines' containers and of limits of memory, which other tests may run meanwhile. */
const controlGroups = (): readonly string[] =>
  globSync('/sys/fs/cgroup/{*,*/*,*/*/*}/').filter(
    (folder) => !/muster-docker-|muster-memory-|libpod|user\.slice/.test(folder),
  )

/** Mount points but those of Podman's containers, which other tests may run meanwhile. */
const mountPoints = (): readonly string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((folder) => !/\/overlay(-containers)?(\/|$)|\/netns(\/|$)|libpod/.test(folder))
    .toSorted()

/** Name, hierarchy and whether it is on, of each controller: without how many groups it has. */
const controllers = (): readonly string[] =>
  readFileSync('/proc/cgroups', 'utf8')
    .split('\n')
    .map((line) => line.split('\t').toSpliced(2, 1).join(' '))

/** Where programs of an engine or of a node's making could leave something. */
const files = (): readonly string[] =>
  globSync(['/etc/docker{,/**}', '/opt/{*,containerd/**}', '/lib/modules', '/etc/cni{,/**}'])

export const machine = async () => ({
  files: files(),
  settings: settings(),
  rules: await rules('iptables-save'),
  rules6: await rules('ip6tables-save'),
  links: (await output('ip', '-oneline', 'link')).replaceAll(/^\d+: /gm, ''),
  routes: await output('ip', 'route', 'show', 'table', 'all'),
  mounts: mountPoints(),
  controlGroups: controlGroups(),
  controllers: controllers(),
  modules: existsSync('/proc/modules') ? readFileSync('/proc/modules', 'utf8').match(/^\w+/gm) : undefined,
})

/** Processes that still are in a namespace, such as pid:[4026532000]. */
export const processesIn = (namespace: string): readonly string[] =>
  globSync('/proc/[0-9]*').filter((folder) => namespaceOf(folder) === namespace)

const namespaceOf = (folder: string): string | undefined => {
  try {
    return readlinkSync(`${folder}/ns/pid_for_children`)
  } catch {
    return undefined
  }
}
