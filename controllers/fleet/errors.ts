import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of the fleet operator: what has happened, and what to do. */
export const FLEET_ERRORS = {
  ControlError: {
    when: "an annotation on a Deployment has a value that can't be meant",
    remedy: 'write the value that the message names',
  },
  RevisionError: {
    when: 'a ControllerRevision is not as this operator writes it; nothing goes back to it',
    remedy: 'delete it when nothing else needs it',
  },
  WindowError: {
    when: "a maintenance window can't be read",
    remedy: 'correct the field that the message names',
  },
  ExpressionError: {
    when: "spec.targetExpression can't be read",
    remedy: 'correct the expression at the place that the message names',
  },
  WorkloadError: {
    when: "a template of a workload can't be read for any device",
    remedy: 'correct the field that the message names',
  },
} satisfies ErrorCatalogue
