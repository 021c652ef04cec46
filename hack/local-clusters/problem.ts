/** Why a request is refused. RFC 9457. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}
