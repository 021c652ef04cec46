import type { Service } from '../service.ts'

/** For a problem's detail: what `resourceType` may be. */
export const listPlurals = ({ entities }: Service): string =>
  `write one of ${entities.all.map(({ plural }) => plural).join(', ')}`
