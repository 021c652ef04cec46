/** The subjects and streams by which JetStream KV serves buckets, as far as a device needs them. NATS: ADR-8. Pure. */

export const streamOf = (bucket: string): string => `KV_${bucket}`

/** @param key May be a pattern. */
export const subjectOf = (bucket: string, key: string): string => `$KV.${bucket}.${key}`

/** Undefined for a subject of another bucket. */
export const keyIn = (bucket: string, subject: string): string | undefined => {
  const prefix = subjectOf(bucket, '')
  return subject.startsWith(prefix) ? subject.slice(prefix.length) : undefined
}

/** Where answers and watched entries come to, so that a device can be kept from listening to those of others. */
export const inboxOf = (device: string): string => `_INBOX.${device}`
