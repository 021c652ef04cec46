/** What tasks may read of the manager's environment and files, and which services they may reach: only what is listed. ADAPTER-52. */
import { readFile, realpath } from 'node:fs/promises'
import type { LookupFunction } from 'node:net'
import { dirname, isAbsolute, normalize, sep } from 'node:path'
import { guardedLookup } from '#lib/egress/guarded-lookup.ts'
import { type HttpAllowlist, httpAllowlist } from '#lib/egress/http-allowlist.ts'
import { SERVICE_ACCOUNT_FOLDER } from '#operator/model/service-account.ts'
import { currentUrl, isTrustedOrigin, type TrustedApi } from '#services/hyperfleet-api/client/trusted-origin.ts'
import { type NatsAllowlist, type NatsFiles, natsAllowlist } from './events/nats-allowlist.ts'

export interface Access {
  /** The listed variables that are set. */
  readonly environment: Readonly<Record<string, string>>
  /** Why tasks may not read a file, and what to do; undefined when they may. */
  fileRefusal(path: string): string | undefined
  /** Whether it is the file of `--hyperfleet-api-token-file`: a task may name it, and gets the token that it is given anyway. */
  isManagersToken(path: string): boolean
  /** @throws Error when it may not be read, or can't */
  readFile(path: string): Promise<string>
  readonly httpAllowlist: HttpAllowlist
  readonly natsAllowlist: NatsAllowlist
  /** How a task may reach the HyperFleet API that its spec names: ADAPTER-95. @param tokenPath as the spec has it */
  api(url: string, tokenPath: string | undefined): ApiAccess
}

/** How a HyperFleet API is reached. */
export interface ApiAccess {
  /** Where it is: not always what the spec names. */
  readonly url: string
  /** Why it must not be; undefined when it may. */
  readonly refusal: string | undefined
  /** Whose token it is asked with: one from a file, one of the task's ServiceAccount, or none. */
  readonly token: { readonly file: string } | 'account' | undefined
  /** Resolves its name; Node.js' own when undefined. */
  readonly lookup: LookupFunction | undefined
  /** File with the authorities that it is known by; those of the machine when undefined. */
  readonly caFile: string | undefined
}

/** Bytes of a file that a task reads, as in the Go adapter. */
const MAX_FILE_BYTES = 1024 * 1024

export interface AccessOptions {
  /** Names of environment variables. */
  readonly variables?: readonly string[]
  /** Folders, or single files. */
  readonly files?: readonly string[]
  /** Prefixes of the URLs that resources of HTTP services may lead to. */
  readonly httpTargets?: readonly string[]
  /** URLs of the NATS servers that events may come from. */
  readonly natsServers?: readonly string[]
  /** Files with what those servers are shown, and with the authorities that they are known by. */
  readonly natsFiles?: NatsFiles
  /** Of the manager's flags: the only API that gets a token which the task does not name. */
  readonly hyperfleetApi?: TrustedApi
  /** With one, tasks show that API tokens of their ServiceAccounts, meant for it, and not the manager's. */
  readonly tokenAudience?: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

export const grantAccess = ({
  variables = [],
  files = [],
  httpTargets = [],
  natsServers = [],
  natsFiles = {},
  hyperfleetApi = { url: undefined, tokenFile: undefined },
  tokenAudience,
  env,
}: AccessOptions): Access => {
  const { tokenFile } = hyperfleetApi
  // What is listed may lie around them: they stay the manager's own.
  const secretFiles = [tokenFile, natsFiles.credentials].filter((file) => file !== undefined)
  const secretFolders = [SERVICE_ACCOUNT_FOLDER, ...secretFiles.map((file) => dirname(file))]
  const environment: Record<string, string> = {}
  for (const name of variables) {
    const value = env[name]
    if (value !== undefined) environment[name] = value
  }
  const fileRefusal = (path: string): string | undefined => {
    if (secretFolders.some((folder) => isWithin(folder, path))) return SECRET_FOLDER
    if (isAbsolute(path) && files.some((listed) => isWithin(listed, path))) return undefined
    return 'it is not among the files that tasks may read: list its folder in --adapter-files'
  }
  const allowlist = httpAllowlist(httpTargets, '--adapter-http-targets')
  /** For the API of the flags. */
  const trustedToken =
    tokenAudience !== undefined ? 'account' : tokenFile === undefined ? undefined : { file: tokenFile }
  const isManagersToken = (path: string) => path === tokenFile
  return {
    environment,
    httpAllowlist: allowlist,
    natsAllowlist: natsAllowlist(natsServers, natsFiles),
    api(url, tokenPath) {
      const isTrusted = isTrustedOrigin(url, hyperfleetApi)
      const refused = isTrusted ? undefined : allowlist.refusal(url)
      const asksForOurs = tokenPath !== undefined && isManagersToken(tokenPath)
      const own = tokenPath !== undefined && fileRefusal(tokenPath) === undefined ? tokenPath : undefined
      return {
        url: currentUrl(url, hyperfleetApi),
        refusal:
          refused === undefined
            ? asksForOurs && !isTrusted
              ? `${tokenPath} is the manager's token, which is sent to no API but that of --hyperfleet-api-url`
              : undefined
            : `${refused}, and it is not the API of --hyperfleet-api-url`,
        token: own !== undefined ? { file: own } : isTrusted ? trustedToken : undefined,
        lookup: isTrusted ? undefined : guardedLookup,
        caFile: isTrusted ? hyperfleetApi.caFile : undefined,
      }
    },
    fileRefusal,
    isManagersToken,
    async readFile(path) {
      const refusal = fileRefusal(path)
      if (refusal !== undefined) throw new Error(refusal)
      const actual = await realpath(path)
      const folders = await Promise.all(files.map((listed) => realpath(listed).catch(() => listed)))
      if (!folders.some((folder) => isWithin(folder, actual))) throw new Error('a link leads out of the listed folder')
      const secrets = await Promise.all(secretFolders.map((folder) => realpath(folder).catch(() => folder)))
      if (secrets.some((folder) => isWithin(folder, actual))) throw new Error(SECRET_FOLDER)
      const text = await readFile(actual, 'utf8')
      if (text.length > MAX_FILE_BYTES) throw new Error(`it is larger than ${MAX_FILE_BYTES} bytes`)
      return text
    },
  }
}

const SECRET_FOLDER = "it is in the folder of the manager's token, which tasks may not read: put the file elsewhere"

const isWithin = (listed: string, path: string): boolean => {
  const [folder, file] = [normalize(listed).replace(/\/+$/, ''), normalize(path)]
  return file === folder || file.startsWith(folder + sep)
}
