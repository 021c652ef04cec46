import { asError } from '#operator/model/outcome.ts'
import type { BenchContext } from '../definition.ts'
import type { Contestant, Mode } from './contestant.ts'
import { controllerRuntime } from './controller-runtime.ts'
import { kopf } from './kopf.ts'
import { muster } from './muster.ts'

const all = { muster, 'controller-runtime': controllerRuntime, kopf } as const

const prepared = new Map<Contestant['id'], Promise<Contestant>>()

/** The contestants that can play this mode, ours first; a note says why one is missing. */
export const contestants = async (mode: Mode, { say, note }: BenchContext): Promise<readonly Contestant[]> => {
  const ready: Contestant[] = []
  for (const id of ['muster', 'controller-runtime', 'kopf'] as const) {
    say(`preparing ${id}`)
    try {
      const preparing = prepared.get(id) ?? all[id]()
      prepared.set(id, preparing)
      const contestant = await preparing
      if (contestant.modes.includes(mode)) ready.push(contestant)
    } catch (error) {
      note(`${id} could not be built and is missing: ${asError(error).message}`)
    }
  }
  return ready
}
