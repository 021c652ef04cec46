/** Which HyperFleet API gets the manager's token: the one that the operator named by flag, and no other. SENTINEL-45, ADAPTER-95. */

/** Of the API's Service in releases that served HTTP alone; kustomize/base/api/service.yaml has it for their clients still. */
const FORMER_PORT = '8080'

/** What a manager was told by `--hyperfleet-api-url`, `--hyperfleet-api-token-file` and `--hyperfleet-api-ca`. */
export interface TrustedApi {
  readonly url: string | undefined
  /** Read for every request. */
  readonly tokenFile: string | undefined
  /** With the authorities that it is known by; those of the machine when undefined. */
  readonly caFile?: string | undefined
}

/**
 * Where what names an API leads: where the operator names it by `https://`, the address that it had before, `http://` at its Service's former
 * port, means the same API, and nothing goes out unencrypted. API-180.
 * @param url any text
 */
export const currentUrl = (url: string, { url: trusted }: Pick<TrustedApi, 'url'>): string => {
  if (trusted === undefined || !URL.canParse(url)) return url
  const [named, asked] = [new URL(trusted), new URL(url)]
  const isFormer =
    named.protocol === 'https:' &&
    asked.protocol === 'http:' &&
    asked.hostname === named.hostname &&
    asked.port === FORMER_PORT
  return isFormer ? `${named.origin}${asked.pathname}` : url
}

/** Whether the URL leads to the API that the operator named: the same scheme, host and port. */
export const isTrustedOrigin = (url: string, { url: trusted }: Pick<TrustedApi, 'url'>): boolean =>
  trusted !== undefined && new URL(currentUrl(url, { url: trusted })).origin === new URL(trusted).origin
