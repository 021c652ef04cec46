/** The observer's own look at what the fleet keeps in NATS. */
import { Kvm } from '@nats-io/kv'
import { connect, type NatsConnection } from '@nats-io/transport-node'

const BUCKETS = ['fleet-desired', 'fleet-state', 'fleet-info'] as const

export interface KeyReader extends AsyncDisposable {
  /** Every key that is there: `<bucket> <key>`; one look after the other. @throws when NATS does not answer */
  read(): Promise<readonly string[]>
}

/** Keeps its connection from one look to the next, until a look fails. */
export const keyReader = (natsUrl: string): KeyReader => {
  let connection: NatsConnection | undefined
  const close = async (): Promise<void> => {
    const closing = connection
    connection = undefined
    await closing?.close()
  }
  return {
    async read() {
      connection ??= await connect({ servers: natsUrl, reconnect: false, timeout: 2_000 })
      try {
        const kvm = new Kvm(connection)
        const all: string[] = []
        for (const name of BUCKETS) {
          const bucket = await kvm.open(name, { allow_direct: true })
          for await (const key of await bucket.keys()) all.push(`${name} ${key}`)
        }
        return all
      } catch (error) {
        await close()
        throw error
      }
    },
    [Symbol.asyncDispose]: close,
  }
}
