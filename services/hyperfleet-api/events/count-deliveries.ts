import type { DeliveryRow } from '../storage/schema.ts'

/** How often it was delivered and not given back unworked. A replica of the version before leaves `given_back` as it is at a replay. */
export const countDeliveries = ({
  deliveries,
  given_back,
}: Pick<DeliveryRow, 'deliveries'> & { readonly given_back: number }): number => Math.max(0, deliveries - given_back)
