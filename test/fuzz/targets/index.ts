import type { FuzzTarget } from '../target.ts'
import { APIS } from './apis.ts'
import { ADAPTER, FLEET, RECORDS } from './controllers.ts'
import { LIB } from './lib.ts'
import { OPERATOR } from './operator.ts'
import { SERVICES } from './services.ts'

export const TARGETS: readonly FuzzTarget[] = [
  ...APIS,
  ...LIB,
  ...OPERATOR,
  ...ADAPTER,
  ...FLEET,
  ...RECORDS,
  ...SERVICES,
]
