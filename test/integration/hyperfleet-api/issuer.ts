import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'
import type { IssuerSettings } from '#services/hyperfleet-api/auth/issuer.ts'

/** An issuer of tokens under the test's hand. */
export interface TestIssuer {
  readonly name: string
  readonly file: string
  /** What the API has to be told about it; `roles` is the claim with the roles. */
  readonly settings: IssuerSettings
  /** A good token for an hour from the manual clock's beginning, changed as given; `undefined` leaves a claim out. */
  token(claims?: JWTPayload, header?: { alg?: string; kid?: string }): Promise<string>
  /** From now on it signs with a new key, and its keys are only that one. */
  rotate(): Promise<void>
  /** Serves the keys at a URL until `stop`. */
  serve(): Promise<{ readonly url: string; requests(): number; stop(): Promise<void> }>
}

export const AUDIENCE = 'hyperfleet-api'
/** Seconds since the epoch at which manual clocks begin. */
export const BEGINNING = Date.UTC(2026, 0, 1) / 1000

let issuers = 0

/** An issuer with a key of its own, whose keys are in a file; gone when the test is over. */
export const testIssuer = async (settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> => {
  issuers += 1
  const name = `https://issuer-${issuers}.test`
  const folder = await mkdtemp(join(tmpdir(), 'muster-issuer-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'jwks.json')
  let generation = 0
  let key: CryptoKey
  let keys: JWK[] = []
  const rotate = async () => {
    generation += 1
    const pair = await generateKeyPair('ES256')
    key = pair.privateKey
    keys = [{ ...(await exportJWK(pair.publicKey)), kid: `key-${generation}`, alg: 'ES256', use: 'sig' }]
    await writeFile(file, JSON.stringify({ keys }))
  }
  await rotate()
  return {
    name,
    file,
    rotate,
    settings: {
      issuer: name,
      audiences: [AUDIENCE],
      keys: { file },
      rolesClaim: 'roles',
      groupsClaim: 'groups',
      mappings: [],
      defaultRoles: [],
      ...settings,
    },
    token: (claims = {}, { kid = `key-${generation}` } = {}) => {
      const all = { iss: name, aud: AUDIENCE, sub: 'somebody', exp: BEGINNING + 3600, ...claims }
      return new SignJWT(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)))
        .setProtectedHeader({ alg: 'ES256', kid })
        .sign(key)
    },
    serve: async () => {
      let requests = 0
      const server = createServer((_request, response) => {
        requests += 1
        response.end(JSON.stringify({ keys }))
      })
      const { promise, resolve } = Promise.withResolvers<void>()
      server.listen(0, '127.0.0.1', resolve)
      await promise
      const stop = async () => {
        server.closeAllConnections()
        server.close()
      }
      onTestFinished(stop)
      return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`, requests: () => requests, stop }
    },
  }
}

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
