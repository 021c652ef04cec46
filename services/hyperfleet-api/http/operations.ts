import type { Operation } from './operation.ts'
import { anyKindOperations } from './routes/any-kind.ts'
import { archiveOperations } from './routes/archive.ts'
import { claimOperations } from './routes/claims.ts'
import { type Collection, collectionsOf, withAncestorCheck } from './routes/collection.ts'
import { consumerOperations } from './routes/consumers.ts'
import { deadLetterOperations } from './routes/dead-letters.ts'
import { eventOperations } from './routes/events.ts'
import { explainOperations } from './routes/explain.ts'
import { forceDeleteOperations } from './routes/force-delete.ts'
import { kindOperations } from './routes/kinds.ts'
import { resourceOperations } from './routes/resources.ts'
import { statusOperations } from './routes/statuses.ts'
import type { Service } from './service.ts'

/** Everything that the API serves. */
export const buildOperations = (service: Service): Operation[] => [
  ...service.entities.all
    .flatMap(collectionsOf)
    .flatMap((place) => operationsAt(service, place).map((operation) => withAncestorCheck(service, place, operation))),
  ...anyKindOperations(service, (place) => operationsAt(service, place)),
  ...archiveOperations(service),
  ...eventOperations(service),
  ...consumerOperations(service),
  ...claimOperations(service),
  ...deadLetterOperations(service),
  ...kindOperations(service),
]

/** What every kind has, wherever it is served. */
const operationsAt = (service: Service, place: Collection): Operation[] => [
  ...resourceOperations(service, place),
  ...statusOperations(service, place),
  ...forceDeleteOperations(service, place),
  ...explainOperations(service, place),
]
