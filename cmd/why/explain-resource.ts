import { systemClock } from '#operator/model/clock.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { createHttp, readJson } from '#services/hyperfleet-api/client/http.ts'
import { LookFailure, UsageError } from '../failure.ts'
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
  const get = (path: string) =>
    http.exchange({ method: 'GET', path, accept: 'application/json' }, new AbortController().signal, readJson)
  try {
    const id = await findId(get, kind, name)
    const explanation = (await get(`/resources/${encodeURIComponent(id)}/explain`)) as Explanation
    const text =
      output === 'json' ? `${JSON.stringify(explanation, undefined, 2)}\n` : formatExplanation(explanation, new Date())
    return { text, isWaiting: explanation.waits_for.length > 0 }
  } catch (error) {
    if (error instanceof HyperFleetError) throw new LookFailure(error.message, { cause: error })
    throw error
  } finally {
    await http.close()
  }
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

/** An API that tells no kinds may serve any, and one that does not answer says so elsewhere. @throws LookFailure */
const checkKind = async (get: Get, kind: string): Promise<void> => {
  const { items } = (await get('/kinds').catch(() => ({ items: null }))) as List<ListedKind>
  if (items === null || items.some((known) => known.kind === kind || known.plural === kind)) return
  throw new LookFailure(`the API has no kind ${kind}: write one of ${items.map(({ plural }) => plural).join(', ')}`)
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
    await checkKind(get, kind)
    throw error
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
