// Counts seconds into every ConfigMap with the label `count`, in one process at a time however many run.
import { controller, PRESENT } from 'muster/operator'
import { ConfigMap } from './kinds.ts'
import { run } from './run.ts'

const counter = controller(ConfigMap, { name: 'counter' })

counter.daemon(
  'count',
  async ({ name, patch, send, signal, clock }) => {
    for (let seconds = 0; !signal.aborted; seconds += 1) {
      patch.merge({ data: { seconds: String(seconds) } })
      await send()
      await clock.sleep('1s', signal)
    }
    console.log(`${name} is no longer counted`)
  },
  {
    labels: { count: PRESENT },
    lease: ({ metadata: { name, namespace = 'default' } }) => ({ name: `count-${name}`, namespace }),
  },
)

await run(counter)
