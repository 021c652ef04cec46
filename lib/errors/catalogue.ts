import type { ErrorCatalogue } from './error-of.ts'

/** The errors of expressions, templates, patches and NATS: what has happened, and what to do. */
export const LIB_ERRORS = {
  CelCompileError: {
    when: "a CEL expression can't be read: its syntax, a name, or types that don't fit",
    remedy: 'correct the expression at the place that the message names',
  },
  CelEvaluationError: {
    when: 'a CEL expression has no value for these inputs: a key is missing, a number is divided by zero',
    remedy: 'guard the expression, as with has(), or give the missing input',
  },
  CelLimitError: {
    when: 'a CEL expression was stopped: it, its inputs or its result are too large, or it takes too many steps',
    remedy: 'simplify the expression or read less with it',
  },
  LimitReached: {
    when: 'the same, before the expression is known; it becomes a CelLimitError',
    remedy: 'nothing: it is never shown',
  },
  ValueError: {
    when: 'a value of JavaScript has no type in CEL; it becomes a CelEvaluationError',
    remedy: 'report it: the program gave the value',
  },
  PatchError: {
    when: "a JSON patch can't be applied as it is written",
    remedy: 'correct the operation that the message names, counted from 0',
  },
  HttpTimeout: {
    when: 'a server can not be connected to in time, does not answer, or stopped in its answer',
    remedy: 'see that the server and the network to it work',
  },
  NatsProblem: {
    when: "NATS can't serve a request: it is away, lacks JetStream or rights, or a bucket is gone or has other settings",
    remedy: 'do what the message says; the program tries again by itself',
    inMessage: true,
  },
  TemplateSyntaxError: {
    when: "a template can't be read: its syntax, or a name that nothing has",
    remedy: 'correct the template at the line and column of the message',
  },
  TemplateRenderError: {
    when: "a template can't be rendered with these values: a key is missing, an argument has a wrong type, or a limit is met",
    remedy: 'correct the template, or give the missing value',
  },
  Refusal: {
    when: 'a function of a template takes no such argument; it becomes a TemplateRenderError',
    remedy: 'nothing: it is never shown',
  },
} satisfies ErrorCatalogue
