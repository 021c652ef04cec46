/** Which HyperFleet API gets the manager's token: the one that the operator named by flag, and no other. SENTINEL-45, ADAPTER-95. */

/** What a manager was told by `--hyperfleet-api-url` and `--hyperfleet-api-token-file`. */
export interface TrustedApi {
  readonly url: string | undefined
  /** Read for every request. */
  readonly tokenFile: string | undefined
}

/** Whether the URL leads to the API that the operator named: the same scheme, host and port. */
export const isTrustedOrigin = (url: string, { url: trusted }: TrustedApi): boolean =>
  trusted !== undefined && new URL(url).origin === new URL(trusted).origin

/** The file with the token for requests to this URL; undefined where they go without. */
export const tokenFileFor = (url: string, api: TrustedApi): string | undefined =>
  isTrustedOrigin(url, api) ? api.tokenFile : undefined
