/** Which node image a kind cluster is made from: the official one where it is to be had, else the one that is made here. */

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { getContainerRuntimeClient } from 'testcontainers'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { ensureNodeImage, nodeImage, nodeImageMissing } from '../../kindnode/image.ts'
import { SetupError } from '../../process/errors.ts'
import type { Start } from '../cluster.ts'
import { OFFICIAL_IMAGE } from './plan.ts'

/** How long a registry may take until it begins to answer, in milliseconds. */
const REGISTRY_PATIENCE_MS = 20_000

type Progress = Pick<Start, 'say' | 'signal'>

/** The name of a node image that the engine has, after it was pulled or made. @throws SetupError */
export const provideNodeImage = async (start: Progress): Promise<string> => {
  const { tag } = nodeImage()
  for (const name of [OFFICIAL_IMAGE, tag]) if (await isThere(name)) return name
  const unreachable = await pull(OFFICIAL_IMAGE, start)
  if (unreachable === undefined) return OFFICIAL_IMAGE
  start.signal?.throwIfAborted()
  const missing = nodeImageMissing()
  if (missing !== undefined) throw noImage(unreachable, missing)
  start.say(`  ${OFFICIAL_IMAGE} can't be pulled (${unreachable}), so the node is made here`)
  const { archive } = await ensureNodeImage(start.say, start.signal)
  start.say('  Loading the image of the node …')
  await load(archive)
  return tag
}

const noImage = (unreachable: string, missing: string): SetupError =>
  new SetupError(
    `${OFFICIAL_IMAGE} can't be pulled (${unreachable}), and no node image can be made here (${missing}): load one with "docker load", or use MUSTER_CLUSTER=local`,
  )

const docker = async () => (await getContainerRuntimeClient()).container.dockerode

const isThere = async (name: string): Promise<boolean> => {
  try {
    await (await docker()).getImage(name).inspect()
    return true
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false
    throw error
  }
}

/** @returns why it can't be pulled; undefined when it was */
const pull = async (name: string, { say, signal }: Progress): Promise<string | undefined> => {
  const patience = new AbortScope(signal)
  const timer = setTimeout(() => patience.abort(new Error('its registry does not answer')), REGISTRY_PATIENCE_MS)
  say(`  Pulling ${name} …`)
  try {
    const answer = await (await docker()).pull(name, { abortSignal: patience.signal })
    clearTimeout(timer)
    await followed(answer as Readable)
    return undefined
  } catch (error) {
    return patience.signal.aborted && !signal?.aborted ? 'its registry does not answer' : wordsOf(error as Error)
  } finally {
    clearTimeout(timer)
    patience.abort()
  }
}

/** An engine's own words, without what the client puts before them: "(HTTP code 500) server error - ". */
const wordsOf = ({ message }: Error): string => message.replace(/^\(HTTP code \d+\) .*? - /, '').trim()

const load = async (archive: string): Promise<void> =>
  followed((await (await docker()).loadImage(createReadStream(archive))) as Readable)

/** Waits for the end of what the engine does, which it tells a line at a time. @throws Error with its own words */
const followed = async (answer: Readable): Promise<void> => {
  for await (const line of createInterface({ input: answer })) {
    const { error } = JSON.parse(line) as { readonly error?: string }
    if (error !== undefined) throw new SetupError(error)
  }
}
