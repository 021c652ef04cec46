// Checks the URL in every ConfigMap with the label `check: url`: what to try again, what to wait for, what to give up.
import { controller, PermanentError, TemporaryError } from 'muster/operator'
import { ConfigMap } from './kinds.ts'
import { run } from './run.ts'

const checks = controller(ConfigMap, { name: 'checks' })

checks.reconcile(
  async ({ object, name, retry, signal }) => {
    const text = object.data?.url
    // Waiting is no failure: it is called again when the URL is added, or after an hour.
    if (text === undefined) return { requeueAfter: '1h' }
    const url = URL.parse(text)
    // Trying again would not help; a change of the ConfigMap does. An Event says so.
    if (url === null)
      throw new PermanentError(`${text} is no URL: write one such as http://host/path`, { reason: 'BadURL' })
    const { status } = await fetch(url, { signal }).catch((error: unknown) => {
      throw new TemporaryError(`${url.host} does not answer`, { delay: '1s', cause: error })
    })
    console.log(`${name} answers ${status} after ${retry.count} failures`)
    return undefined
  },
  { labels: { check: 'url' } },
)

await run(checks)
