/** A second API server that hears of changes late: its watches are behind, its reads are not, as etcd sees to it. */
import { delayed } from '#test/harness/slow-stream.ts'
import { ALL_WORK, type Fault } from './fault.ts'

/** Longer than the runtime waits for its own write to come back (RUNTIME-22), so that it decides by what is past. */
const LAG_MS = 8_000

/** Every watch comes from it. */
export const laggingServer: Fault = {
  begin: async ({ suite: { proxy } }) => {
    proxy.decide(({ path }) => (/[?&]watch=/.test(path) ? { through: delayed(LAG_MS) } : 'pass'))
    proxy.cut()
    return {
      async [Symbol.asyncDispose]() {
        proxy.decide(() => 'pass')
        proxy.cut()
      },
    }
  },
  meanwhile: ALL_WORK,
}
