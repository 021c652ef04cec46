import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import { openPool } from './pool.ts'

/** A server whose certificate can be exchanged, and how a client of ours that knows it by a file asks it, on a connection of its own each time. */
const world = async (caFile: string | undefined) => {
  const [first, second] = [await certificateFor('first'), await certificateFor('second')]
  const server = createServer(first, (_request, response) => response.end('here'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const pool = openPool({ caFile })
  onTestFinished(async () => {
    await pool.close()
    server.close()
  })
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const ask = async () => {
    const { body } = await pool.send({ server: url, path: '/', method: 'GET', headers: { connection: 'close' } })
    return (await body.setEncoding('utf8').toArray()).join('')
  }
  return { first, second, server, ask }
}

// API-178
test('authorities are exchanged while a client runs: both are trusted, then the second alone', async () => {
  const file = join(await temporaryFolder('ca'), 'ca.crt')
  const { first, second, server, ask } = await world(file)
  await writeFile(file, first.cert)
  expect(await ask()).toBe('here')
  await writeFile(file, `${first.cert}\n${second.cert}\n`)
  expect(await ask()).toBe('here')
  server.setSecureContext(second)
  expect(await ask()).toBe('here')
  await writeFile(file, second.cert)
  expect(await ask()).toBe('here')
  // A session that the former authority vouched for is none any more.
  server.setSecureContext(first)
  await expect(ask()).rejects.toThrow(/certificate/)
})

// API-178
test('a server of another authority, and a file that holds none or is not there, are errors of the connection', async () => {
  const file = join(await temporaryFolder('ca'), 'ca.crt')
  const { second, ask } = await world(file)
  await expect(ask()).rejects.toThrow('ENOENT')
  await writeFile(file, '')
  await expect(ask()).rejects.toThrow(`${file} holds no certificate of an authority`)
  await writeFile(file, '-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n')
  await expect(ask()).rejects.toThrow()
  await writeFile(file, second.cert)
  await expect(ask()).rejects.toThrow(/certificate/)
  const without = await world(undefined)
  await expect(without.ask()).rejects.toThrow(/certificate/)
})
