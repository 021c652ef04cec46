/** Levels of a document, deeper than any spec: recursion over one stays bounded. */
export const MAX_DOCUMENT_DEPTH = 64
