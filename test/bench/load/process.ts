/** The load generator in a process of its own, so that its CPU counts for no contestant and its watch is not slowed by the runner. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Gadgets } from './gadgets.ts'

export interface Call {
  readonly id: number
  readonly method: keyof Gadgets
  readonly args: readonly unknown[]
}

/** The answer to a call; id 0 says that the watch is open. */
export interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

export type Load = Gadgets & AsyncDisposable

/** Starts the load generator on an empty namespace. Every call rejects when its process ends before it answers. */
export const startLoad = async (kubeconfig: string, namespace: string): Promise<Load> => {
  const child = fork(fileURLToPath(new URL('main.ts', import.meta.url)), [kubeconfig, namespace], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const calls = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>()
  child.on('message', ({ id, result, error }: Answer) => {
    if (error === undefined) calls.get(id)?.resolve(result as never)
    else calls.get(id)?.reject(new Error(error))
    calls.delete(id)
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of calls.values()) reject(new Error(`the load generator ended with ${code ?? signal}`))
  })
  const answer = <R>(id: number): Promise<R> => {
    const promise = new Promise<R>((resolve, reject) => calls.set(id, { resolve, reject }))
    // Nothing waits any more for the calls under way when a contestant has ended.
    promise.catch(() => undefined)
    return promise
  }
  await answer(0)

  let lastId = 0
  const call =
    <M extends keyof Gadgets>(method: M) =>
    (...args: Parameters<Gadgets[M]>): ReturnType<Gadgets[M]> => {
      const id = ++lastId
      child.send({ id, method, args } satisfies Call)
      return answer(id) as ReturnType<Gadgets[M]>
    }
  return {
    create: call('create'),
    served: call('served'),
    lifecycle: call('lifecycle'),
    change: call('change'),
    changed: call('changed'),
    pace: call('pace'),
    quiet: call('quiet'),
    clear: call('clear'),
    [Symbol.asyncDispose]: () => end(child),
  }
}

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
