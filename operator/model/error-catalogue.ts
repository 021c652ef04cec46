import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of the runtime: what has happened, and what to do. */
export const OPERATOR_ERRORS = {
  ApiError: {
    when: 'the API server answered with an error; the message is its own',
    remedy: 'go by `reason`: Forbidden lacks a right, Invalid a field; Conflict is tried again by itself',
  },
  NetworkError: {
    when: 'the API server gave no answer: nothing listens, the name is unknown, the certificate is not trusted, or the connection broke',
    remedy: "check the server's address and the network; requests are tried again by themselves",
  },
  KubeConfigError: {
    when: 'no cluster can be reached with the kubeconfig that was given',
    remedy: 'correct what the message names, or name another file or context',
    inMessage: true,
  },
  UnknownKindError: {
    when: 'the API server does not serve a kind',
    remedy: 'correct apiVersion and kind of the manifest, or install the CustomResourceDefinition',
    inMessage: true,
  },
  MalformedLineError: {
    when: 'the API server, or a proxy before it, sent a line in a watch that is no watch event',
    remedy: 'look at the proxy; the watch begins again by itself',
  },
  EndMarkMissingError: {
    when: 'a streamed list did not say within a minute that it is complete: the API server, or a proxy before it, has no WatchList',
    remedy: 'nothing: what is there is listed in pages; a proxy that takes bookmarks away is better corrected',
  },
  StaleListError: {
    when: 'a list was said to be complete as of an older version than one that was seen: the API server lags behind another one, or a proxy mixes them',
    remedy:
      'nothing: no object counts as deleted, and it is listed again; look at the API servers when it does not end',
  },
  AnswerTooLargeError: {
    when: 'the API server, or a proxy before it, sent an answer or a line of a watch that is larger than any object or page can be',
    remedy: 'look at the proxy; lists are read again in smaller pages',
  },
  AnswerTooSlowError: {
    when: 'an answer, or a watch, comes so slowly that it would never end: fewer than 100 bytes in the time that the server may be silent',
    remedy: 'look at the network and at proxies before the API server; requests are tried again by themselves',
  },
  CacheFullError: {
    when: 'the objects that are watched need more than half of the memory that the process may use; the kind that needs it is not ready, the others go on',
    remedy:
      'give the process more memory (`--max-old-space-size` and its container) and start it anew, or watch fewer objects: by namespaces or selectors',
  },
  LeaseLostError: {
    when: 'a lease was lost: it could not be renewed in time, or another process holds it',
    remedy: 'nothing: its work ends here and begins again where the lease is',
  },
  ReviewError: {
    when: 'the body of a call to the admission webhook is no AdmissionReview',
    remedy: 'let only the API server call the webhook',
  },
  BodyTooLargeError: {
    when: 'the body of a call to the admission webhook is too large',
    remedy: 'make the object smaller',
  },
  BindingError: {
    when: "an address can't be listened on: it is taken, not of this machine, or needs more rights",
    remedy: 'give the flag that the message names another address or port',
    inMessage: true,
  },
  DurationError: {
    when: 'a text is no duration',
    remedy: 'write a number and a unit, such as 500ms, 10s, 30m or 1h30m',
  },
  SelectorError: {
    when: "a label selector can't be read",
    remedy: 'correct the field that the message names',
  },
  RegistrationError: {
    when: 'a controller is declared wrongly, as with two handlers of one id',
    remedy: "correct the controller's code; it is thrown where the mistake is",
  },
  ScopeEndedError: {
    when: "the work on an object ends: the process stops, or the handler's filters no longer match; the reason of a handler's signal",
    remedy: 'nothing: end the handler soon when its signal aborts',
  },
  ObjectDeletedError: {
    when: 'the work on an object ends, because it is deleted',
    remedy: 'nothing: as ScopeEndedError',
  },
  TemporaryError: {
    when: 'thrown by a handler to be called again later',
    remedy: "see the handler's message; it is called again after the delay",
    inMessage: true,
  },
  PermanentError: {
    when: 'thrown by a handler not to be called again for this change',
    remedy: 'correct the object as the message says; its next change calls the handler',
    inMessage: true,
  },
} satisfies ErrorCatalogue
