import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of adapter tasks: what has happened, and what to do. */
export const ADAPTER_ERRORS = {
  InvalidTaskError: {
    when: "a task can't be run as it is written",
    remedy: 'correct every place that the message names; `muster adapter dry-run` checks a file',
  },
  FieldPathError: {
    when: "a path into a document can't be read",
    remedy: 'write status.phase or {.items[?(@.type=="Ready")].status}',
  },
  TaskError: {
    when: "a step of a task's run failed; `reason` is what its status and trace say",
    remedy: "look at the run's trace: [debugging](../adapter-debugging.md)",
  },
  ObjectReplacedError: {
    when: 'an object that a task has applied is there no more, or another one of its name is',
    remedy: 'nothing: the run makes it again',
  },
  RequestError: {
    when: 'a request of a task was refused, or got no answer',
    remedy: 'look at the URL, the status and the code in the message; the run is tried again as the task says',
  },
  NoTokenError: {
    when: 'there is no token for the HyperFleet API, so a request of a task is not sent',
    remedy: "make the task's ServiceAccount, or give the manager the right that the message names",
  },
  DryRunFileError: {
    when: "a file of a dry run can't be read",
    remedy: 'correct the file at the place that the message names',
  },
  NotAnEventError: {
    when: 'a message is no reconcile event; it goes to the dead letters',
    remedy: 'find its sender: the log has the message; `muster adapter dead-letters` shows those of NATS',
  },
  NothingToDoError: {
    when: 'the resource of an event is gone, its labels are not those that the task selects, or the event is about another one',
    remedy: 'nothing: the run takes away what was applied, if there is any',
  },
} satisfies ErrorCatalogue
