import { RestError } from '#test/harness/index.ts'

/** What the API server answers to what it refuses. Kubernetes: metav1.Status. */
interface Status {
  readonly message: string
  readonly details?: { readonly causes?: readonly { readonly field: string; readonly message: string }[] }
}

/** The causes for which the API server refuses a request, one line each, sorted. @throws Error when it accepts */
export const refusalOf = async (request: Promise<unknown>): Promise<string> => {
  try {
    await request
  } catch (error) {
    if (!(error instanceof RestError)) throw error
    const status: Status = JSON.parse(error.message.slice(error.message.indexOf('{')))
    // "<nil>" only says that rules come after types.
    const causes = (status.details?.causes ?? [])
      .filter(({ field }) => field !== '<nil>')
      .map(({ field, message }) => `${field}: ${message}`)
    return causes.length > 0 ? causes.toSorted().join('\n') : status.message
  }
  throw new Error('the API server accepted it')
}
