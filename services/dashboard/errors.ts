import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of the dashboard: what has happened, and what to do. */
export const DASHBOARD_ERRORS = {
  HttpError: {
    when: "a page can't be shown; its title says why",
    remedy: "see the page's text",
    inMessage: true,
  },
} satisfies ErrorCatalogue
