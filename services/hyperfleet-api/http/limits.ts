/** Bytes of a request's body. */
export const BODY_LIMIT = 1024 * 1024
/** Characters of a path with its query; the longest `search` (4096) fits even when all of it is escaped. */
export const URL_LIMIT = 14 * 1024
