/** Where the HyperFleet API relays all events to, and adapters take them from: one subject a kind, `hyperfleet.events.<plural>`. */
export const EVENT_STREAM = 'hyperfleet-events'
export const EVENT_SUBJECTS = 'hyperfleet.events'
