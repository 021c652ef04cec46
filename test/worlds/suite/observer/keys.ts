/** The observer's own look at what the fleet keeps in NATS. */
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'

const BUCKETS = ['fleet-desired', 'fleet-state', 'fleet-info'] as const

/** Every key that is there: `<bucket> <key>`. @throws when NATS does not answer */
export const keysIn = async (natsUrl: string): Promise<readonly string[]> => {
  const connection = await connect({ servers: natsUrl, reconnect: false, timeout: 2_000 })
  try {
    const all: string[] = []
    for (const name of BUCKETS) {
      const bucket = await new Kvm(connection).open(name, { allow_direct: true })
      for await (const key of await bucket.keys()) all.push(`${name} ${key}`)
    }
    return all
  } finally {
    await connection.close()
  }
}
