/** How long a change takes to reach many watch streams. */
import { upTo } from '../in-parallel.ts'
import { percentile } from '../measure/statistics.ts'
import type { Figure } from '../report/row.ts'
import type { Fleet } from './fleet.ts'
import type { Ground } from './ground.ts'
import type { Call } from './load.ts'
import { openWatchers } from './watchers.ts'

/** As many as one caller may have. */
export const SUBSCRIBERS = 1_000
const CHANGES = 20

/** The way of a change to the last stream, and what the streams cost. */
export const fanOut = async ({ server, load }: Ground, fleet: Fleet, streams = SUBSCRIBERS): Promise<Figure[]> => {
  // The newest version is behind us: a stream from nothing would begin with everything there is.
  const { headers } = await fetch(`${server.url}/api/hyperfleet/v1/clusters?size=1`)
  const from = headers.get('muster-resource-version') ?? '0'
  const path = `/clusters?watch=true&fields=labels&resourceVersion=${from}`
  const watchers = await openWatchers(server.url, path, streams)
  try {
    const took: number[] = []
    for (const n of upTo(CHANGES)) {
      const mark = `change-${from}-${n}`
      const call: Call = { method: 'PATCH', path: `/clusters/${fleet.at(n).id}`, body: { labels: { mark } } }
      took.push(await watchers.untilAllHave(`"${mark}"`, () => load.request(call)))
    }
    return [
      {
        name: `change to ${streams} streams, p50 of the last`,
        unit: 'ms',
        value: percentile(took, 0.5),
        target: { of: 'value', atMost: 100 },
      },
      { name: `RSS with ${streams} streams`, unit: 'MiB', value: server.usage().rssMiB },
    ]
  } finally {
    watchers.close()
  }
}
