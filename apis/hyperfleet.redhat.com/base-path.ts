/** Below which the HyperFleet API serves everything that is versioned. */
export const BASE_PATH = '/api/hyperfleet/v1'
