/** What adapter tasks write onto the objects that they apply, for other controllers. */

/** A label: for which HyperFleet resource, by its id. */
export const RESOURCE_LABEL = 'muster.dev/resource-id'
