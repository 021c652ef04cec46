import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of the HyperFleet API and its client: what has happened, and what to do. */
export const API_ERRORS = {
  Problem: {
    when: "a request can't be done; the answer is a problem document",
    remedy: 'go by `code`: docs/reference/api-errors.md lists each',
  },
  HyperFleetError: {
    when: "a client's request to the HyperFleet API failed; `reason` is what conditions say",
    remedy:
      "look at the API's address, token and health, as docs/troubleshoot/api.md#the-hyperfleet-api-refuses-or-is-slow says",
  },
  ConfigError: {
    when: "a configuration file of the API is neither YAML nor JSON, or a setting, a kind or an issuer of tokens in it can't be meant",
    remedy: 'correct the place that the message names',
  },
  SpecSchemaError: {
    when: "the schemas of specs can't be used",
    remedy: 'correct the file of --openapi-schema-path',
  },
  ApiOptionsError: {
    when: "the API can't be started with these options",
    remedy: 'give the flag that the message names another value',
  },
  KeysUnavailable: {
    when: "an issuer's keys can't be had, so its tokens can't be checked",
    remedy: "look at the issuer's URL or file; requests are answered again once it is there",
  },
  BrokerError: {
    when: "NATS can't be used for events until its settings are corrected",
    remedy: 'do what the message says, and start the API again',
    inMessage: true,
  },
  ConsumerMissingError: {
    when: "a group's durable consumer is gone from JetStream",
    remedy: 'nothing: it is made anew',
  },
  LayoutError: {
    when: 'the database was laid out by a newer version',
    remedy: 'run that version, or a newer one',
  },
  ForeignLayoutError: {
    when: "the database is the Go service's, whose tables have the same names",
    remedy: 'name a database of its own, and take the other over: docs/migrate-hyperfleet.md',
    inMessage: true,
  },
  TakeoverError: {
    when: "the database of a Go service can't be taken over as things are",
    remedy: 'do what the message says, and say the command again',
    inMessage: true,
  },
  ComputeError: {
    when: 'a rule of a computed condition has no value; the condition keeps what it had, with reason EvaluationFailed',
    remedy: 'correct the rule in the configuration file',
  },
} satisfies ErrorCatalogue
