import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream'
import { BUCKETS, type BucketSettings } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { drillFleet, type FleetSnapshot, formatDrill, isOpen } from '#controllers/fleet/drill.ts'
import { ControllerRevision, REVISION_LABEL } from '#controllers/fleet/rollout/controllerrevision.ts'
import { updateOf } from '#controllers/fleet/state/key-update.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { readEntries } from '#lib/nats/bucket-entries.ts'
import { type Connected, type NatsAccess, openConnection } from '#lib/nats/connection.ts'
import { NatsProblem } from '#lib/nats/problem.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { systemClock } from '#operator/index.ts'
import type { ApiServerOptions } from '../api-server-flags.ts'
import { LookFailure } from '../failure.ts'
import { requireNamespace, withApiServer } from '../with-api-server.ts'

export interface DrillOptions extends ApiServerOptions {
  readonly natsUrl: string
  readonly natsCredentials: string | undefined
  readonly natsCa?: string | undefined
  readonly namespace: string | undefined
  readonly output: 'text' | 'json'
}

type Snapshot<Part extends keyof FleetSnapshot> = Pick<FleetSnapshot, Part>

/**
 * What an operator of this release would do if it began now. Reads only.
 * @throws LookFailure when the API server or NATS does not answer or refuses
 */
export const drill = async (options: DrillOptions): Promise<{ readonly text: string; readonly isOpen: boolean }> => {
  const { natsUrl, natsCredentials, natsCa, namespace, output } = options
  try {
    return await withApiServer(options, async (transport) => {
      await requireNamespace(transport, namespace)
      // Buckets first: a key that is written meanwhile is then one that would be written, and none that would be deleted.
      const buckets = await readBuckets({ url: natsUrl, credentials: natsCredentials, ca: natsCa }, namespace)
      const objects = await readObjects(createApi(transport), namespace)
      const result = drillFleet({ ...buckets, ...objects }, systemClock)
      const text = output === 'json' ? `${JSON.stringify(result, undefined, 2)}\n` : formatDrill(result)
      return { text, isOpen: isOpen(result) }
    })
  } catch (error) {
    if (error instanceof NatsProblem) throw new LookFailure(error.message, { cause: error })
    throw error
  }
}

const readObjects = async (
  api: Api,
  namespace: string | undefined,
): Promise<Snapshot<'deployments' | 'revisions' | 'devices'>> => {
  const where = namespace === undefined ? {} : { namespace }
  return {
    deployments: await Array.fromAsync(api.list(Deployment, where)),
    revisions: await Array.fromAsync(api.list(ControllerRevision, { ...where, labelSelector: REVISION_LABEL })),
    devices: await Array.fromAsync(api.list(Device)),
  }
}

const readBuckets = async (
  access: Omit<NatsAccess, 'name'>,
  namespace: string | undefined,
): Promise<Snapshot<'desired' | 'states'>> => {
  const connected = await openConnection({ ...access, name: 'muster fleet drill' })
  try {
    const read = async ({ name }: BucketSettings) => readBucket(connected, name, namespace)
    return { desired: await read(BUCKETS.desired), states: await read(BUCKETS.state) }
  } finally {
    await connected.connection.close()
  }
}

const readBucket = async (
  { connection }: Connected,
  bucket: string,
  namespace: string | undefined,
): Promise<FleetSnapshot['desired']> => {
  const entries = await readEntries(connection, bucket, namespace === undefined ? '>' : `*.${namespace}.*`).catch(
    (error: unknown) => {
      if (error instanceof NatsProblem) throw error
      throw new LookFailure(
        error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound
          ? `--nats-url: there is no bucket ${bucket}: name the NATS of the fleet; its operator makes the buckets when it first runs`
          : `--nats-url: the bucket ${bucket} can't be read: ${messageOf(error)}`,
        { cause: error },
      )
    },
  )
  return entries.map(updateOf).filter(({ bytes }) => bytes !== undefined)
}
