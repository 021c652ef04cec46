import { hintAt } from '#lib/text/nearest.ts'
import { systemClock } from '#operator/model/clock.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { createHttp, readJson } from '#services/hyperfleet-api/client/http.ts'
import { LookFailure, UsageError } from '../failure.ts'
import { readInput } from '../input.ts'
import type { WhyOptions } from './command.ts'
import { type Explanation, formatExplanation } from './format-explanation.ts'

/** Of one request, in milliseconds. */
const TIMEOUT_MS = 10_000

/** Finds a resource by its kind and its name or id, and says what it waits for. @throws LookFailure, UsageError */
export const explainResource = async (
  reference: string,
  { hyperfleetApiUrl: url, hyperfleetApiTokenFile: tokenFile, hyperfleetApiCa: caFile, output }: WhyOptions,
): Promise<{ readonly text: string; readonly isWaiting: boolean }> => {
  const { kind, name } = parseReference(reference)
  const http = createHttp({ url, timeout: TIMEOUT_MS, userAgent: 'muster-why', tokenFile, caFile, clock: systemClock })
  if (tokenFile !== undefined) await readInput('--hyperfleet-api-token-file', tokenFile)
  const get = (path: string) =>
    http.exchange({ method: 'GET', path, accept: 'application/json' }, new AbortController().signal, readJson)
  try {
    const id = await findId(get, kind, name)
    const explanation = (await get(`/resources/${encodeURIComponent(id)}/explain`)) as Explanation
    const text =
      output === 'json' ? `${JSON.stringify(explanation, undefined, 2)}\n` : formatExplanation(explanation, new Date())
    return { text, isWaiting: explanation.waits_for.length > 0 }
  } catch (error) {
    if (error instanceof HyperFleetError)
      throw new LookFailure(`${error.message}${hintOf(error, tokenFile)}`, { cause: error })
    throw error
  } finally {
    await http.close()
  }
}

/** What to write so that it can look, where the answer of the server does not say so. */
const hintOf = ({ status, message }: HyperFleetError, tokenFile: string | undefined): string => {
  if (status === 401 && tokenFile === undefined) return '; give a token by --hyperfleet-api-token-file'
  if (status === 401) return `; the file ${tokenFile} of --hyperfleet-api-token-file has no good token`
  if (message.includes('wrong version number')) return '; it speaks no TLS: write http:// in --hyperfleet-api-url'
  return status === undefined ? '; --hyperfleet-api-url says where the API is' : ''
}

const parseReference = (reference: string): { readonly kind: string; readonly name: string } => {
  const [, kind, name] = /^([A-Za-z][A-Za-z0-9-]*)\/([A-Za-z0-9.-]+)$/.exec(reference) ?? []
  if (kind === undefined || name === undefined)
    throw new UsageError(`resource: ${JSON.stringify(reference)} is none: write KIND/NAME, such as clusters/boston`)
  return { kind, name }
}

/** What is listed of a resource. */
interface ListedResource {
  readonly id: string
  readonly href: string
}

interface ListedKind {
  readonly kind: string
  readonly plural: string
}

interface List<Item> {
  readonly items: readonly Item[] | null
  /** How many there are in all, where the API says. */
  readonly total?: number
}

type Get = (path: string) => Promise<unknown>

/**
 * The plural of a kind that is written otherwise, such as `cluster` or `CLUSTERS`. An API that tells no kinds may serve any, and one that
 * does not answer says so elsewhere.
 * @returns undefined where the kind is not what was wrong @throws LookFailure
 */
const pluralOf = async (get: Get, kind: string): Promise<string | undefined> => {
  const { items } = (await get('/kinds').catch(() => ({ items: null }))) as List<ListedKind>
  if (items === null || items.some((known) => known.kind === kind || known.plural === kind)) return undefined
  const meant = items.find(({ kind: name, plural }) =>
    [name, plural].some((word) => word.toLowerCase() === kind.toLowerCase()),
  )
  if (meant !== undefined) return meant.plural
  const plurals = items.map(({ plural }) => plural)
  throw new LookFailure(`the API has no kind ${kind}${hintAt(kind, plurals) || ':'} write one of ${plurals.join(', ')}`)
}

/** The first page, of as many as are not too large together (API-173). */
const getPage = async (get: Get, path: string, size = 100): Promise<unknown> => {
  try {
    return await get(`${path}&size=${size}`)
  } catch (error) {
    if (!(error instanceof HyperFleetError && error.status === 413 && size > 1)) throw error
    return getPage(get, path, size / 10)
  }
}

/** The id of a resource: kinds are written as paths write them (`clusters`) or as resources do (`Cluster`). @throws LookFailure */
const findId = async (get: Get, kind: string, name: string): Promise<string> => {
  const isKind = /^[A-Z]/.test(kind)
  const list = isKind ? `/resources?kind=${encodeURIComponent(kind)}&` : `/${encodeURIComponent(kind)}?`
  const search = /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(name) ? `id='${name}'` : `name='${name}'`
  const path = `${list}search=${encodeURIComponent(search)}&fields=id,href`
  const { items, total = 1 } = (await getPage(get, path).catch(async (error: unknown) => {
    const plural = await pluralOf(get, kind)
    if (plural === undefined) throw error
    return { items: [{ id: await findId(get, plural, name), href: '' }] }
  })) as List<ListedResource>
  const [first, ...others] = items ?? []
  if (first === undefined) throw new LookFailure(`the API has no ${kind} with ${search}`)
  // Where they are too large together the others are on no page.
  if (others.length > 0 || total > 1)
    throw new LookFailure(
      `several ${kind} have ${search}, write the id of one: ${[first, ...others].map(({ href }) => href).join(', ')}${total > others.length + 1 ? `, and ${total - others.length - 1} more` : ''}`,
    )
  return first.id
}
