import { resolve } from 'node:path'
import { createLogger } from '#lib/log/logger.ts'
import { logUnhandledRejections } from '#lib/process/unhandled-rejections.ts'
import { KubeConfigError } from '#operator/client/kubeconfig.ts'
import { loadTransport, type Transport } from '#operator/client/transport.ts'
import { systemClock } from '#operator/model/clock.ts'
import {
  CredentialsError,
  LockedError,
  ProgramsError,
  RefusedError,
  readAuthenticator,
  runAgent,
} from '#services/agent/index.ts'
import { machineInventory } from '#services/agent/machine-inventory.ts'
import { buildInfo } from '../build-info.ts'
import { Failure, UsageError } from '../failure.ts'
import { stopOnSignals } from '../signals.ts'
import type { AgentFlags } from './flags.ts'
import { openPublicKeys } from './public-keys.ts'

/** Runs the agent until a signal stops it. @throws UsageError, Failure */
export const runAgentCommand = async (flags: AgentFlags): Promise<void> => {
  const { device, labels, natsUrl, natsCa, stateDir, stopWorkloads } = flags
  const signal = stopOnSignals()
  const log = createLogger(flags).child({ component: 'agent' })
  logUnhandledRejections(log)
  const { version } = buildInfo()
  const authenticator = await credentialsOf(flags)
  const cluster = await clusterOf(flags, version)
  try {
    log.info('starting', { device, version })
    await runAgent(
      {
        device,
        labels,
        version,
        publicKeys: await openPublicKeys(flags.fleetPublicKeys),
        nats: { url: natsUrl, authenticator, ca: natsCa, keyFile: flags.natsCredentials },
        stateDir,
        inventory: machineInventory(),
        programs: {
          user: flags.programUser,
          folder: flags.programDir ?? `${resolve(stateDir)}-programs`,
          uids: flags.programUids,
          secrets: [flags.natsCredentials, flags.natsTokenFile, flags.kubeconfig].filter((file) => file !== undefined),
        },
        cluster,
        stopWorkloads,
        clock: systemClock,
        log,
      },
      signal,
    )
    log.info('stopped', { signal: signal.reason })
  } catch (error) {
    throw explained(error, stateDir)
  } finally {
    await cluster?.close()
  }
}

/** @throws UsageError */
const credentialsOf = async ({ natsCredentials, natsTokenFile }: AgentFlags) => {
  if (natsCredentials !== undefined && natsTokenFile !== undefined)
    throw new UsageError('--nats-token-file: give it or --nats-credentials, not both')
  try {
    return await readAuthenticator({ creds: natsCredentials, token: natsTokenFile })
  } catch (error) {
    if (!(error instanceof CredentialsError)) throw error
    throw new UsageError(
      `${natsCredentials === undefined ? '--nats-token-file' : '--nats-credentials'}: ${error.message}`,
      {
        cause: error,
      },
    )
  }
}

/** Only the cluster that a flag names: the one that kubectl happens to point to is none of the fleet's. @throws UsageError */
const clusterOf = async ({ kubeconfig, context }: AgentFlags, version: string): Promise<Transport | undefined> => {
  if (kubeconfig === undefined) {
    if (context !== undefined) throw new UsageError('--context: it needs --kubeconfig')
    return undefined
  }
  try {
    return await loadTransport({ kubeconfig, context, userAgent: `muster-agent/${version}` })
  } catch (error) {
    if (error instanceof KubeConfigError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

const explained = (error: unknown, stateDir: string): unknown => {
  if (error instanceof ProgramsError) return new UsageError(error.message, { cause: error })
  if (error instanceof RefusedError || error instanceof LockedError) return new Failure(error.message, { cause: error })
  const { code, message } = error as NodeJS.ErrnoException
  if (
    code === 'EACCES' ||
    code === 'EPERM' ||
    code === 'EROFS' ||
    code === 'ENOSPC' ||
    code === 'EEXIST' ||
    code === 'ENOTDIR'
  )
    return new Failure(`--state-dir: ${stateDir} can't be used: ${message}`, { cause: error })
  return error
}
