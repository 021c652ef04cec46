import type { Installable } from '../debian/install.ts'
import { findPostgres } from './find.ts'

/** Why there is no PostgreSQL here, and what to do; undefined when there is one. Tests that need it skip with this reason. */
export const postgresMissing = (): string | undefined =>
  findPostgres() === undefined
    ? 'PostgreSQL is not installed: "apt-get install postgresql" (Debian), "brew install postgresql@17" (macOS)'
    : undefined

export const POSTGRES: Installable = { title: 'PostgreSQL', package: 'postgresql', missing: postgresMissing }
