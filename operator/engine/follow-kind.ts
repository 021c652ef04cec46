import type { Logger } from '../model/log.ts'
import { isSameKind, type KubeObject, type Resource } from '../model/resource.ts'
import type { ObjectListener } from './context.ts'
import type { Informer } from './informers.ts'
import type { PreparedController } from './prepare-controller.ts'
import type { WatchProblem } from './watch-problems.ts'

/** Tells a source of the objects of a kind, until the signal aborts. RUNTIME-73. @throws TypeError for a kind that the controller doesn't watch */
export const followKind = <T extends KubeObject>(
  { definition, own, watched }: PreparedController,
  resource: Resource<T>,
  listener: ObjectListener<T>,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): void => {
  const informers = [
    ...(isSameKind(definition.resource, resource) ? own : []),
    ...watched.flatMap((other) => (isSameKind(other.watched.resource, resource) ? other.informers : [])),
  ] as unknown as readonly Informer<T>[]
  if (informers.length === 0)
    throw new TypeError(`the controller ${definition.name} doesn't watch ${resource.kind}: call watches for it`)

  // One that can be watched again, as in one namespace, hides no other.
  const problems = new Map<Informer<T>, WatchProblem>()
  for (const informer of informers) {
    for (const object of informer.store.values()) listener.seen(object)
    const ends = [
      informer.subscribe((event) => {
        try {
          if (event.type === 'deleted') listener.deleted(event.object)
          else if (event.type !== 'synced') listener.seen(event.object)
        } catch (error) {
          log.error('a source threw at an event that it follows, it goes on with the next', {
            kind: resource.kind,
            event: event.type,
            err: error,
          })
        }
      }),
      informer.subscribeProblems((problem) => {
        if (problem === undefined) problems.delete(informer)
        else problems.set(informer, problem)
        listener.watchProblem([...problems.values()][0])
      }),
    ]
    const stop = () => {
      for (const end of ends) end()
    }
    signal.addEventListener('abort', stop, { once: true })
  }
}
