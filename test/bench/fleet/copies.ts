/** Objects that are put into etcd as the API server would have stored them: 100,000 Devices take hours by its requests on two cores. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Agent } from 'undici'
import { deviceName } from './devices.ts'

/** etcd takes 128 operations in one transaction. */
const AT_ONCE = 100
const PREFIX = '/registry/fleet.nationtech.io/devices/'

interface StoredDevice {
  readonly metadata: object
}

const encode = (text: string): string => Buffer.from(text).toString('base64')

/**
 * Makes the Devices from `originals` up to `count`, each as the one of its Deployment is.
 * @param folder of the control plane
 */
export const copyDevices = async (folder: string, originals: number, count: number): Promise<void> => {
  const etcd = new Agent({ connect: { socketPath: join(folder, 'etcd.sock') } })
  const ask = async (path: string, body: object): Promise<unknown> => {
    const answer = await etcd.request({
      origin: 'http://etcd',
      path: `/v3/kv/${path}`,
      method: 'POST',
      body: JSON.stringify(body),
    })
    if (answer.statusCode !== 200) throw new Error(`etcd refuses ${path}: ${await answer.body.text()}`)
    return answer.body.json()
  }
  const read = async (index: number): Promise<StoredDevice> => {
    const { kvs } = (await ask('range', { key: encode(PREFIX + deviceName(index)) })) as {
      readonly kvs?: readonly { readonly value: string }[]
    }
    if (kvs?.[0] === undefined) throw new Error(`there is no Device ${deviceName(index)}`)
    return JSON.parse(Buffer.from(kvs[0].value, 'base64').toString()) as StoredDevice
  }
  const stored = new Map<number, StoredDevice>()
  const copy = async (index: number): Promise<object> => {
    const original = stored.get(index % originals) ?? (await read(index % originals))
    stored.set(index % originals, original)
    const name = deviceName(index)
    const object = { ...original, metadata: { ...original.metadata, name, uid: randomUUID() } }
    return { requestPut: { key: encode(PREFIX + name), value: encode(JSON.stringify(object)) } }
  }
  for (let from = originals; from < count; from += AT_ONCE) {
    const success: object[] = []
    for (let index = from; index < Math.min(count, from + AT_ONCE); index += 1) success.push(await copy(index))
    await ask('txn', { success })
  }
  await etcd.close()
}
