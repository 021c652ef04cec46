import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { parseResource, type ResourceBody } from '#controllers/sentinel/decision/resource.ts'
import { type ConfigPreview, formatConfigPreview, previewConfig } from '#controllers/sentinel/preview.ts'
import { parseSettings, SettingsError } from '#controllers/sentinel/settings.ts'
import { Dialect, listPages } from '#controllers/sentinel/source/list-pages.ts'
import { isObject } from '#lib/json/is-object.ts'
import { systemClock } from '#operator/model/clock.ts'
import { apiVersionOf } from '#operator/model/resource.ts'
import { createHyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { LookFailure, UsageError } from '../failure.ts'
import { readDocuments } from '../input.ts'
import type { SentinelPreviewOptions } from './command.ts'

/** The preview of every SentinelConfig of a file. @throws UsageError for a file that can't be used, LookFailure without the API */
export const previewSentinels = async (
  file: string,
  options: SentinelPreviewOptions,
): Promise<{ readonly text: string; readonly isTroubled: boolean }> => {
  const {
    current,
    hyperfleetApiUrl: apiUrl,
    hyperfleetApiTokenFile: tokenFile,
    hyperfleetApiCa: caFile,
    output,
  } = options
  // A file may name any server as its API.
  if (tokenFile !== undefined && apiUrl === undefined)
    throw new UsageError(
      '--hyperfleet-api-token-file: it needs --hyperfleet-api-url, as no API that a file names is shown a token',
    )
  const changed = await readConfigs('file', file)
  if (changed.length === 0) throw new UsageError(`file: ${file} holds no SentinelConfig`)
  const present = current === undefined ? [] : await readConfigs('--current', current)
  const known = new Map<string, Promise<ResourceBody[]>>()
  const previews: ConfigPreview[] = []
  for (const config of changed) {
    try {
      const { url, resourceType, timeout } = parseSettings(config.spec, apiUrl)
      const from = { url: apiUrl ?? url, resourceType, timeout, tokenFile, caFile }
      const key = `${from.url} ${resourceType}`
      const resources = known.get(key) ?? readResources(from)
      known.set(key, resources)
      previews.push(previewConfig(config, { present, changed, defaultUrl: apiUrl }, await resources))
    } catch (error) {
      if (error instanceof SettingsError)
        throw new UsageError(`file: ${file}: ${config.metadata.name}: ${error.message}`, { cause: error })
      if (error instanceof HyperFleetError) throw new LookFailure(error.message, { cause: error })
      throw error
    }
  }
  return {
    text:
      output === 'json' ? `${JSON.stringify(previews, undefined, 2)}\n` : previews.map(formatConfigPreview).join(''),
    isTroubled: previews.some(({ overlap, gaps }) => overlap !== undefined || gaps.length > 0),
  }
}

interface ResourcePlace {
  readonly url: string
  readonly resourceType: string
  /** Of one request, in milliseconds. */
  readonly timeout: number
  readonly tokenFile: string | undefined
  readonly caFile: string | undefined
}

/** All resources of a type. @throws HyperFleetError */
const readResources = async ({
  url,
  resourceType,
  timeout,
  tokenFile,
  caFile,
}: ResourcePlace): Promise<ResourceBody[]> => {
  const api = createHyperFleetClient({
    url,
    timeout,
    userAgent: 'muster-sentinel-preview',
    tokenFile,
    caFile,
    clock: systemClock,
  })
  const listing = { api, dialect: new Dialect(), resourceType, selection: { labels: undefined, search: [] } }
  const found = new Map<string, ResourceBody>()
  try {
    for await (const { items } of listPages(listing, new AbortController().signal))
      for (const body of items.map(parseResource)) found.set(body.id, body)
    return [...found.values()]
  } finally {
    await api.close()
  }
}

const readConfigs = async (where: string, file: string): Promise<SentinelConfig[]> => {
  const { kind } = SentinelConfig
  const apiVersion = apiVersionOf(SentinelConfig)
  return (await readDocuments(where, file))
    .flatMap((document) => (isObject(document) && Array.isArray(document.items) ? document.items : [document]))
    .filter((document) => document !== null && document !== undefined)
    .map((document: unknown, position) => {
      const at = `${where}: ${file}, object ${position + 1}`
      if (!isObject(document) || document.kind !== kind || document.apiVersion !== apiVersion)
        throw new UsageError(`${at} is no ${kind} of ${apiVersion}`)
      const metadata = isObject(document.metadata) ? document.metadata : {}
      if (typeof metadata.name !== 'string' || !isObject(document.spec))
        throw new UsageError(`${at} has no metadata.name or no spec`)
      return { ...document, metadata: { namespace: 'default', ...metadata } } as unknown as SentinelConfig
    })
}
