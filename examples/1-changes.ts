// Prints what changes in ConfigMaps with the label `watch-me`, and remembers over restarts what it has printed.
import { controller, PRESENT } from 'muster/operator'
import { ConfigMap } from './kinds.ts'
import { run } from './run.ts'

// What was handled last stands on the object, so that a restart is not a new object.
const changes = controller(ConfigMap, { name: 'changes', diffBase: 'annotations', progress: 'annotations' })
const labelled = { labels: { 'watch-me': PRESENT } } as const

changes.on.create('created', ({ name }) => console.log(`${name} is new`), labelled)
changes.on.field(
  'data',
  'data',
  ({ name, old, diff }) => {
    if (old === undefined) return
    for (const { op, path, old: before, new: now } of diff)
      console.log(`${name}: ${op} ${path.join('.')} ${JSON.stringify(before)} -> ${JSON.stringify(now)}`)
  },
  labelled,
)
changes.on.resume('resumed', ({ name }) => console.log(`${name} was there`), labelled)

await run(changes)
