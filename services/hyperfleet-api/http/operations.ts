import type { Operation } from './operation.ts'
import { anyKindOperations } from './routes/any-kind.ts'
import { archiveOperations } from './routes/archive.ts'
import { eventOperations } from './routes/events.ts'
import { forceDeleteOperations } from './routes/force-delete.ts'
import { belowAncestors, type Place, placesOf } from './routes/places.ts'
import { resourceOperations } from './routes/resources.ts'
import { statusOperations } from './routes/statuses.ts'
import type { Service } from './service.ts'

/** Everything that the API serves. */
export const operationsOf = (service: Service): Operation[] => [
  ...service.entities.all
    .flatMap(placesOf)
    .flatMap((place) => operationsAt(service, place).map((operation) => belowAncestors(service, place, operation))),
  ...anyKindOperations(service, (place) => operationsAt(service, place)),
  ...archiveOperations(service),
  ...eventOperations(service),
]

/** What every kind has, wherever it is served. */
const operationsAt = (service: Service, place: Place): Operation[] => [
  ...resourceOperations(service, place),
  ...statusOperations(service, place),
  ...forceDeleteOperations(service, place),
]
