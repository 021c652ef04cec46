/** Bytes of a request's body. */
export const MAX_BODY_BYTES = 1024 * 1024
/** Characters of a path with its query; the longest `search` (4096) fits even when all of it is escaped. */
export const MAX_URL_CHARS = 14 * 1024
