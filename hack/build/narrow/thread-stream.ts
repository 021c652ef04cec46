/** pino's transports run in worker threads; we write lines ourselves (lib/log/logger.ts). Without them `worker_threads` stays unloaded. */
export default class ThreadStream {
  constructor() {
    throw new Error('pino transports are not in the bundle: write to a destination')
  }
}
