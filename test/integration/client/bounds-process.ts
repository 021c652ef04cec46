/**
 * Two operators in a process of its own, for tests that limit its memory: `node bounds-process.ts KUBECONFIG NAMESPACE`. One reconciles
 * widgets, the other ConfigMaps. Prints what it does, and at each line of its input lists all widgets by pages.
 */
import { createInterface } from 'node:readline'
import { createApi } from '#operator/client/api.ts'
import { createHealth } from '#operator/health.ts'
import { controller, loadTransport, operator } from '#operator/index.ts'
import { systemClock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { Widget } from '../operator/world-kind.ts'
import { CONFIG_MAPS } from './world.ts'

const [kubeconfig = '', namespace = ''] = process.argv.slice(2)

const say = (message: string): void => console.log(message)
const log: Logger = { debug() {}, info: say, warn: say, error: say, child: () => log }

const widgets = controller(Widget, { name: 'widgets' })
let reconciled = 0
widgets.reconcile(() => {
  reconciled += 1
  if (reconciled % 1_000 === 0 || reconciled < 100) say(`widgets ${reconciled}`)
})
const configMaps = controller(CONFIG_MAPS, { name: 'config-maps' })
configMaps.reconcile(({ name }) => say(`ConfigMap ${name}`))

const transport = await loadTransport({ kubeconfig })
const health = createHealth(systemClock)
const shared = { transport, namespaces: [namespace], log }
const many = operator({ controllers: [widgets], ...shared, health })
const few = operator({ controllers: [configMaps], ...shared })
for (const one of [many, few]) void one.start()
void many.ready.then(() => say('widgets are ready'))
setInterval(() => {
  const [why] = [...health.ready().values()]
  if (why !== undefined) say(`not ready: ${why}`)
}, 500)

createInterface(process.stdin).on('line', (line) => {
  const list = async () => {
    let listed = 0
    for await (const { metadata } of createApi(transport).list(Widget, { namespace })) if (metadata.name) listed += 1
    return `listed ${listed}`
  }
  list().then(say, (error: Error) => say(`${line} failed: ${error.name}: ${error.message}`))
})
