/** Processes for client-node's exec plugins: `child_process`, which brings datagrams and more along, is loaded when a kubeconfig has one. */
import type { spawn as Spawn } from 'node:child_process'

const spawn = ((...args: Parameters<typeof Spawn>) =>
  process.getBuiltinModule('node:child_process').spawn(...args)) as typeof Spawn

export default { spawn }
