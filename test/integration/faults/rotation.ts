/** Certificates and tokens that are exchanged while controllers use them. */
import { writeFile } from 'node:fs/promises'
import { certificateFor } from '#test/harness/certificates.ts'
import { MANAGERS } from '#test/harness/suite/processes.ts'
import { ALL_WORK, type Fault } from './fault.ts'
import { type FaultWorld, NAMESPACE } from './world.ts'

/**
 * The ServiceAccounts are made anew, which takes every token of theirs its worth, and the API server has another certificate of another
 * authority. Managers are given what is new in the files that they were given at their start.
 */
const exchangeAll = async ({ suite, cluster }: FaultWorld): Promise<void> => {
  for (const [name, files] of suite.credentials) {
    const { account } = MANAGERS[name]
    await cluster.kubectl('delete', 'serviceaccount', account, '-n', NAMESPACE)
    await cluster.kubectl('create', 'serviceaccount', account, '-n', NAMESPACE)
    const tokenFor = async (...audience: readonly string[]) =>
      (await cluster.kubectl('create', 'token', account, '-n', NAMESPACE, '--duration=24h', ...audience)).trim()
    await writeFile(files.token, await tokenFor())
    await writeFile(files.apiToken, await tokenFor('--audience=hyperfleet-api'))
  }
  const certificate = await certificateFor('127.0.0.1')
  suite.proxy.present(certificate)
  suite.proxy.cut()
  for (const { authority } of suite.credentials.values()) await writeFile(authority, certificate.cert)
}

export const credentialsRotated: Fault = {
  begin: async (world) => {
    await exchangeAll(world)
    return {
      // Rotated once more.
      [Symbol.asyncDispose]: () => exchangeAll(world),
    }
  },
  meanwhile: ALL_WORK,
}
