/** Where a stream's bytes go. */
export interface Sink {
  /**
   * @param delivered is called when the reader has them, or is gone
   * @returns how many bytes wait for the reader
   */
  write(bytes: string | Buffer, delivered?: () => void): number
  /** Resolves when the reader has taken all that was written, or the signal aborts. */
  drained(): Promise<void>
  /** Aborted when the reader is gone, its token is no longer taken, or the server stops. */
  readonly signal: AbortSignal
  /** Tells callers apart. */
  readonly caller: string
  /**
   * Ends it where its reader has not taken all that was written.
   * @returns whether that was so
   */
  cutOff(): boolean
}
