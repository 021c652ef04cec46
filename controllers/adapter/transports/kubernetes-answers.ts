/** What answers of the Kubernetes API say of an object. */
import type { ApiError } from '#operator/client/errors.ts'
import type { NamedMatch } from './transport.ts'

/** ADAPTER-107. Kubernetes: a deletion at once is answered with a Status that names the object's uid, others with the object. */
export const isGone = (answer: unknown, uid: string | undefined): boolean => {
  const { kind, status, details } = (answer ?? {}) as { kind?: unknown; status?: unknown; details?: { uid?: unknown } }
  return kind === 'Status' && status === 'Success' && uid !== undefined && details?.uid === uid
}

/**
 * To an apply that names a uid: the object of that uid is there no more. Kubernetes: a conflict that names no field where none is there, an invalid
 * uid where there is another one. ADAPTER-120.
 */
export const isReplaced = ({ status, details: { causes = [] } }: ApiError): boolean =>
  status === 409 ? causes.length === 0 : status === 422 && causes.some(({ field }) => field === 'metadata.uid')

/** The server answers about this object, and not that it knows no such path. Kubernetes: NotFound names what is not found. */
export const isObjectAbsent = (error: ApiError, match: NamedMatch): boolean =>
  match.kind === 'name' && error.details.name === match.name
