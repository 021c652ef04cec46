/** A shell that sees the processes of the node: what the kernel says of containers that have no shell. */
import type { KindNodes } from '#test/harness/ground/kind/cluster.ts'

const NAMESPACE = 'kube-system'
const NAME = 'node-shell'

export const NODE_SHELL = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: NAME, namespace: NAMESPACE },
  spec: {
    hostPID: true,
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'shell',
        image: 'docker.io/library/busybox:1.37.0',
        command: ['sleep', '1000000'],
        securityContext: { privileged: true },
      },
    ],
  },
} as const

/** What the kernel says of the first process of a container. */
export interface KernelView {
  /** Number of the process in the node. */
  readonly pid: number
  /** /proc/PID/status by name: Uid, CapEff, Seccomp … */
  readonly status: Readonly<Record<string, string>>
  /** How its root is mounted: ro, relatime … */
  readonly root: readonly string[]
}

export interface NodeShell {
  /** @param containerID containerd://…, of a container that runs */
  look(containerID: string): Promise<KernelView>
  signal(pid: number, name: string): Promise<void>
  /** Runs a command with the files of the node. @returns what it printed */
  run(...command: readonly string[]): Promise<string>
}

/** Waits for the pod itself. */
export const nodeShell = ({ kubectl }: KindNodes['cluster']): NodeShell => {
  const run = async (script: string): Promise<string> => {
    const where = `--namespace=${NAMESPACE}`
    await kubectl('wait', '--for=condition=Ready', `pod/${NAME}`, where, '--timeout=120s')
    return kubectl('exec', where, NAME, '--', 'sh', '-c', script)
  }
  return {
    look: async (containerID) => {
      const id = containerID.replace(/^.*:\/\//, '')
      // Process numbers rise, so the first that is found began first.
      const found = `cd /proc; for p in $(ls -d [0-9]* | sort -n); do grep -q ${id} $p/cgroup 2>/dev/null && break; done`
      const text = await run(`${found}; echo "Pid: $p"; cat $p/status; grep ' / / ' $p/mountinfo`)
      const lines = text.trim().split('\n')
      const mount = lines.at(-1)?.split(' ') ?? []
      const status = Object.fromEntries(
        lines.slice(0, -1).map((line) => [line.split(':', 1)[0], line.slice(line.indexOf(':') + 1).trim()]),
      )
      return { pid: Number(lines[0]?.split(' ')[1]), status, root: mount[5]?.split(',') ?? [] }
    },
    signal: async (pid, name) => void (await run(`kill -${name} ${pid}`)),
    run: (...command) => run(`nsenter -t 1 -m -- ${command.join(' ')}`),
  }
}
