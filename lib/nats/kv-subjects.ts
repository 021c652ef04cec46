/** The subjects and streams by which JetStream KV serves buckets, NATS: ADR-8. Pure. */

/** The stream that holds a bucket. */
export const streamOf = (bucket: string): string => `KV_${bucket}`

/** The subject of a key. @param key May be a pattern. */
export const subjectOf = (bucket: string, key: string): string => `$KV.${bucket}.${key}`

/** Undefined for a subject of another bucket. */
export const keyIn = (bucket: string, subject: string): string | undefined => {
  const prefix = subjectOf(bucket, '')
  return subject.startsWith(prefix) ? subject.slice(prefix.length) : undefined
}
