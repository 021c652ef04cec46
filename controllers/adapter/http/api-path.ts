/** Where on the HyperFleet API a task's URL leads. As in the Go adapter, but a query string is kept. ADAPTER-54. */
import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'

/**
 * The path and query of a URL as tasks write it: `/clusters/x`, `clusters/x` and `/api/hyperfleet/v1/clusters/x` mean the same. Of
 * an absolute URL only its path and query count: requests go to the task's own API and nowhere else, and so does its token.
 */
export const apiPath = (text: string): string => {
  const { pathname, search } = new URL(text.trim(), 'http://api')
  return `${pathname.startsWith('/api/') ? '' : BASE_PATH}${pathname}${search}`
}
