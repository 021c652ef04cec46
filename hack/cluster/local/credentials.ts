import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { type Layout, USERS, type User, users } from './layout.ts'

/** Lines of kube-apiserver's token file: token, user, uid and, when there are any, quoted groups. */
export const tokenFile = (tokens: Readonly<Record<User, string>>): string =>
  users
    .map((user) => {
      const { name, groups } = USERS[user]
      const fields: string[] = [tokens[user], name, user]
      if (groups.length > 0) fields.push(`"${groups.join(',')}"`)
      return `${fields.join(',')}\n`
    })
    .join('')

/** The token of a user in a token file's text. */
export const tokenOf = (user: User, text: string): string => {
  const line = text.split('\n').find((line) => line.split(',')[1] === USERS[user].name)
  const token = line?.split(',')[0]
  if (token === undefined) throw new Error(`The token file has no line for ${USERS[user].name}`)
  return token
}

/** Makes the tokens and the service accounts' signing key, once: a control plane that starts again keeps its credentials. */
export const ensureCredentials = async (layout: Layout): Promise<void> => {
  await mkdir(layout.folder, { recursive: true, mode: 0o700 })
  if (!existsSync(layout.serviceAccountKey)) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await writeFile(layout.serviceAccountKey, privateKey.export({ format: 'pem', type: 'sec1' }), { mode: 0o600 })
  }
  if (!existsSync(layout.tokens)) {
    const tokens = Object.fromEntries(users.map((user) => [user, randomBytes(24).toString('hex')]))
    await writeFile(layout.tokens, tokenFile(tokens as Record<User, string>), { mode: 0o600 })
  }
}

export const readToken = async (layout: Layout, user: User): Promise<string> =>
  tokenOf(user, await readFile(layout.tokens, 'utf8'))
