/** Where answers and watched entries come to, so that a device can be kept from listening to those of others. */
export const inboxOf = (device: string): string => `_INBOX.${device}`
