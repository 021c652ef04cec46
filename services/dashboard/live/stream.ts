/**
 * The stream of one open page, as Server-Sent Events. It is drawn again when something changed, at most once a second, and only
 * the sections that differ are sent.
 */
import type { ServerResponse } from 'node:http'
import type { Markup } from '#lib/markup/markup.ts'
import type { Clock } from '#operator/model/clock.ts'
import { isShown, readRecovery, renderBanner } from '../banner.ts'
import type { RenderedPage } from '../page.ts'
import { WATCHED } from '../pages/index.ts'
import { digestOf } from '../section-digest.ts'
import type { Sources } from '../sources.ts'
import { bannerChange, changesSince, GONE, type SectionDigests, sectionDigests } from './changes.ts'

/** Between two looks, in milliseconds. */
const TICK_MS = 1_000
/** Ages are drawn again after so many ticks, though nothing else changed. A stream is never silent for longer. */
const TICKS_OF_AGES = 20

export interface StreamOptions {
  readonly response: ServerResponse
  readonly sources: Sources
  readonly clock: Clock
  /** Aborts when the server stops or the viewer leaves. */
  readonly signal: AbortSignal
  /** The digest of what the page showed when it was loaded. */
  readonly seen: string | undefined
  /** The page now; undefined when what it shows is gone. */
  open(now: Date): RenderedPage | undefined
}

/** Sends what changes until the signal aborts. */
export const streamPage = async ({ response, sources, clock, signal, seen, open }: StreamOptions): Promise<void> => {
  using changes = watch(sources)
  let shown: SectionDigests | undefined
  let wasBannerShown: boolean | undefined
  const send = (markup: Markup): void => {
    response.write(`data: ${markup.html.replaceAll(/\r\n|[\r\n]/g, '\ndata: ')}\n\n`)
  }

  const draw = (): void => {
    const opened = open(clock.now())
    if (opened === undefined) {
      if (shown?.size !== 0) send(GONE)
      shown = new Map()
    } else {
      const isAsLoaded = shown === undefined && digestOf(opened.sections) === seen
      const change = isAsLoaded ? undefined : changesSince(shown, opened)
      if (change !== undefined) send(change)
      shown = sectionDigests(opened)
    }
    // It clears itself, by asking; only its coming has to be told. After a reconnect it is unknown what is shown.
    const recovery = readRecovery(sources.fleet())
    if (isShown(recovery) && wasBannerShown !== true) send(bannerChange(renderBanner(recovery, clock.now())))
    wasBannerShown = isShown(recovery)
  }

  response.write(': welcome\n\n')
  draw()
  for (let ticks = 1; !signal.aborted; ticks++) {
    await clock.sleep(TICK_MS, signal)
    // A slow reader gets the newest when it has read the rest.
    if (signal.aborted || response.writableNeedDrain) continue
    if (ticks % TICKS_OF_AGES === 0) response.write(': still here\n\n')
    else if (!changes.taken()) continue
    draw()
  }
}

/** Notes that something has changed. */
const watch = (sources: Sources): Disposable & { taken(): boolean } => {
  let changed = false
  const note = () => {
    changed = true
  }
  const ends = [
    ...WATCHED.map((resource) => sources.objects(resource)?.subscribe(note)),
    sources.fleet()?.onChange(note),
    sources.runs()?.onChange(note),
  ]
  return {
    /** Has anything changed since the last time this was asked? */
    taken() {
      const was = changed
      changed = false
      return was
    },
    [Symbol.dispose]() {
      for (const end of ends) end?.()
    },
  }
}
