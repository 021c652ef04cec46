/**
 * An operator in a process of its own, for tests that kill it: `node process.ts KUBECONFIG NAMESPACE IDENTITY MODE`.
 * MODE 'slow': the create handler takes until the object says `spec.color: go`; 'elect': runs under the lease `elected`.
 * Prints a line for everything it does.
 */
import { type Context, controller, loadTransport, operator } from '#operator/index.ts'
import { IN_ANNOTATIONS, Widget } from './world-kind.ts'

const [kubeconfig = '', namespace = '', identity = '', mode = ''] = process.argv.slice(2)

const widgets = controller(Widget, { name: 'killed', ...IN_ANNOTATIONS })
const slowly = async ({ name, namespace: place, signal, clock, api }: Context<Widget>) => {
  console.log(`create begins ${name}`)
  while (!signal.aborted && (await api.get(Widget, name, place))?.spec.color !== 'go') await clock.sleep('20ms', signal)
  signal.throwIfAborted()
  console.log(`create ends ${name}`)
}
if (mode === 'slow') widgets.on.create('make', slowly)
else widgets.on.create('make', ({ name }) => console.log(`create ${name}`))
widgets.on.resume('again', ({ name }) => console.log(`resume ${name}`))

const transport = await loadTransport({ kubeconfig })
const one = operator({
  controllers: [widgets],
  transport,
  identity,
  namespaces: [namespace],
  ...(mode === 'elect' && {
    settings: { election: { lease: 'elected', namespace, duration: '4s', renew: '3s', retry: '500ms' } },
  }),
})
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort(new Error('SIGTERM')))
void one.ready.then(() => console.log('ready'))
await one.start(stop.signal)
console.log('stopped')
await transport.close()
