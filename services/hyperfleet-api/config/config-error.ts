/** A configuration file that can't be meant; the message is one line that says what, where, and what to write instead. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigError'
  }
}
