/** What the attacks on signed entries stand on: writes as anyone that NATS lets write, and programs that show that they began. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/transport-node'
import { SIGNATURE_HEADER } from '#apis/fleet.nationtech.io/kv/signature.ts'
import { subjectOf } from '#lib/nats/kv-subjects.ts'
import { program } from '../agent/world.ts'

/** @param signature as a header; none when it is empty */
export const putEntry = async (
  connection: NatsConnection,
  key: string,
  bytes: Uint8Array,
  signature: string,
): Promise<void> => {
  const own = headers()
  if (signature !== '') own.set(SIGNATURE_HEADER, signature)
  const client = (await jetstreamManager(connection)).jetstream()
  await client.publish(subjectOf('fleet-desired', key), bytes, { headers: own })
}

/** A program that leaves a file, so that it is known whether it ever began. */
export const leavingIn = (folder: string, name: string) => {
  const trace = join(folder, name)
  return { score: program(`touch ${trace}; exec sleep 1000`), began: () => existsSync(trace) }
}
