/** A NATS server that can't be used until someone mends it; the message says what to do. */
export class BrokerError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BrokerError'
  }
}
