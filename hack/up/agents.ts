/** The agents that `npm run up` starts, and the NATS server of the fleet, which knows each of them by its key. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writeCredentials } from '../../cmd/fleet/credentials.ts'
import { agentProgram } from '../muster/program.ts'
import { type SigningFiles, writeSigningKey } from '../muster/signing.ts'
import { findNats } from '../nats/find.ts'
import { startNats } from '../nats/nats.ts'
import { startChild } from '../process/child.ts'
import { DEVICE_LABEL, DEVICES } from './fleet.ts'
import type { Run } from './run.ts'

/** NATS as the fleet uses it, and what it never has: the key that signs entries, and its public half. */
export interface FleetNats extends SigningFiles {
  readonly url: string
  /** With the keys that `muster fleet credentials` made. */
  readonly credentials: string
}

/** Makes the keys of the operator and of each device, with that which signs entries, and starts a NATS server that lets in no others. */
export const startFleetNats = async (run: Run, scratch: string, logs: string): Promise<FleetNats> => {
  const credentials = join(scratch, 'fleet-credentials')
  await writeCredentials(DEVICES, credentials)
  const users = join(credentials, 'nats-users.conf')
  const folder = join(logs, 'fleet-nats')
  await mkdir(folder, { mode: 0o700 })
  const nats = await serverFor(run, users, folder)
  run.undo('Stopping the NATS of the fleet', nats.stop)
  return { url: nats.url, credentials, ...(await writeSigningKey(scratch)) }
}

const serverFor = async (run: Run, users: string, folder: string) => {
  const programs = findNats()
  if (programs !== undefined) {
    const nats = await startNats(programs, folder, users)
    run.watch(nats.process(), 'NATS of the fleet')
    return nats
  }
  const { startNatsContainer } = await import('../nats/container.ts')
  return startNatsContainer(users)
}

/** How a manager reaches it, and may do everything there. */
export const natsArgs = ({ url, credentials }: FleetNats): readonly string[] => [
  `--nats-url=${url}`,
  `--nats-credentials=${join(credentials, 'operator.nk')}`,
]

/** Starts an agent for each device. Their programs end with them. */
export const startAgents = async (
  run: Run,
  { url, credentials, publicKeys }: FleetNats,
  scratch: string,
  logs: string,
): Promise<void> => {
  const agents = await Promise.all(
    DEVICES.map((device) =>
      startChild(
        agentProgram(device, {
          args: [
            `--nats-url=${url}`,
            `--nats-credentials=${join(credentials, 'devices', `${device}.nk`)}`,
            `--fleet-public-keys=${publicKeys}`,
            `--labels=${DEVICE_LABEL.key}=${DEVICE_LABEL.value}`,
            `--state-dir=${join(scratch, device)}`,
            // They run under the account that npm run up has, be it root: the folder is private.
            '--program-user=self',
            '--stop-workloads',
          ],
          folder: logs,
          env: process.env,
        }),
      ),
    ),
  )
  run.undo('Stopping the agents', async () => void (await Promise.all(agents.map((agent) => agent.stop()))))
  for (const agent of agents) run.watch(agent)
}
