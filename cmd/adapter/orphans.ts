import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { fileToken } from '#controllers/adapter/http/bearer-token.ts'
import { HttpClient, RequestError } from '#controllers/adapter/http/client.ts'
import { openHttpConnection } from '#controllers/adapter/http/connection.ts'
import type { UnclearObject } from '#controllers/adapter/inventory/orphaned-objects.ts'
import { listOrphans, type Orphan, pruneOrphans } from '#controllers/adapter/inventory/orphans.ts'
import { systemClock } from '#operator/index.ts'
import { Failure, LookFailure } from '../failure.ts'
import { readInput } from '../input.ts'
import { requireNamespace, withApiServer } from '../with-api-server.ts'
import type { OrphansOptions } from './command.ts'

/** Milliseconds of one request to the HyperFleet API. */
const TIMEOUT_MS = 10_000

/** Prints what is left of tasks and resources that are gone, and deletes it when asked to. @throws Failure */
export const runOrphans = async (options: OrphansOptions): Promise<void> => {
  const { namespace, hyperfleetApiUrl: url, hyperfleetApiTokenFile: tokenFile, output, prune } = options
  const caFile = options.hyperfleetApiCa
  const connection = url === undefined ? undefined : openHttpConnection({ base: url, userAgent: 'muster', caFile })
  if (tokenFile !== undefined) await readInput('--hyperfleet-api-token-file', tokenFile)
  const token = tokenFile === undefined ? undefined : fileToken(tokenFile)
  const apiClient =
    connection && new HttpClient({ roundTrip: connection.roundTrip, clock: systemClock, timeoutMs: TIMEOUT_MS, token })
  try {
    await withApiServer(options, async (transport) => {
      await requireNamespace(transport, namespace)
      const reading = { transport, clock: systemClock, namespace, apiClient, signal: new AbortController().signal }
      const orphans = await listOrphans(reading)
      process.stdout.write(
        output === 'json' ? `${JSON.stringify(orphans.map(toRecord), undefined, 2)}\n` : toText(orphans),
      )
      const unclear = orphans.flatMap((orphan) => orphan.unclear)
      if (!prune) return failIfUnclear(unclear)
      const { deleted, waiting } = await pruneOrphans(orphans, reading)
      const heldCount = orphans.filter(({ held }) => held !== undefined).length
      if (heldCount > 0)
        process.stderr.write(`${heldCount} are held and stay: the condition DeletionsHeld of their tasks says why\n`)
      process.stderr.write(`deleted ${deleted} object${deleted === 1 ? '' : 's'}\n`)
      const proofCount = orphans.filter(({ proves }) => proves.length > 0).length
      if (proofCount > 0)
        process.stderr.write(
          `${proofCount} stay as proof of whose an object is, until the task that has it too has applied it\n`,
        )
      if (waiting > 0)
        process.stderr.write(
          `${waiting} wait for others that are still there, or are written all the time: run it again later\n`,
        )
      failIfUnclear(unclear)
    })
  } catch (error) {
    if (error instanceof RequestError) throw new LookFailure(`--hyperfleet-api-url: ${error.message}`, { cause: error })
    throw error
  } finally {
    await connection?.close()
  }
}

/** @throws Failure */
const failIfUnclear = (unclear: readonly UnclearObject[]): void => {
  if (unclear.length === 0) return
  const namespaces = [...new Set(unclear.map(({ unread }) => unread))].join(', ')
  throw new Failure(
    `${unclear.length} may be of tasks in ${namespaces}, and were left alone: ask for the right to list adapterinventories and get adaptertasks there`,
  )
}

const toRecord = ({ inventory: { metadata, spec }, why, held, objects, proves, unclear }: Orphan) => ({
  inventory: metadata.name,
  task: spec.task,
  resource: spec.resourceId,
  why,
  held: held !== undefined,
  objects: objects.map(({ entry }) => toReference(entry)),
  proofOf: proves.map(toReference),
  unclear: unclear.map(({ entry }) => toReference(entry)),
})

const toReference = ({ kind, namespace, name, url }: InventoryObject) => url ?? { kind, namespace, name }

const toLine = ({ kind = '', namespace, name = '', url }: InventoryObject): string =>
  url ?? `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`

const toText = (orphans: readonly Orphan[]): string =>
  orphans.length === 0
    ? 'nothing is left of tasks and resources that are gone\n'
    : orphans
        .map(({ inventory: { spec }, why, held, objects, proves, unclear }) => {
          const lines = [
            ...objects.map(({ entry }) => `    ${toLine(entry)}\n`),
            ...proves.map(
              (entry) => `    ${toLine(entry)}  in use elsewhere, this inventory alone proves whose it is\n`,
            ),
            ...unclear.map(
              ({ entry, unread }) =>
                `    ${toLine(entry)}  may be a task's of the namespace ${unread}, which you may not read\n`,
            ),
          ]
          return `${spec.task}  ${spec.resourceId}  ${why}${held === undefined ? '' : '  held'}\n${lines.length === 0 ? '    nothing, its inventory alone\n' : lines.join('')}`
        })
        .join('') + toHeldText(orphans)

/** Once for each task that holds something. */
const toHeldText = (orphans: readonly Orphan[]): string => {
  const held = new Map(
    orphans.flatMap(({ inventory, held: why }) => (why ? [[inventory.spec.task, why] as const] : [])),
  )
  return [...held].map(([task, why]) => `${task}: ${why}\n`).join('')
}
