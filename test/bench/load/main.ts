/** The load generator's process: `main.ts KUBECONFIG NAMESPACE`, forked by ./process.ts, one message a call and an answer. */
import { asError } from '#operator/model/outcome.ts'
import { connect } from './client.ts'
import { openGadgets } from './gadgets.ts'
import type { Answer, Call } from './process.ts'

const [kubeconfig = '', namespace = ''] = process.argv.slice(2)
const gadgets = await openGadgets(connect(kubeconfig), namespace, new AbortController().signal)

const perform = async ({ id, method, args }: Call): Promise<Answer> => {
  try {
    const work = gadgets[method] as (...args: unknown[]) => Promise<unknown>
    return { id, result: await work(...args) }
  } catch (error) {
    return { id, error: asError(error).message }
  }
}

process.on('message', (call: Call) => {
  void perform(call).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ id: 0 } satisfies Answer)
