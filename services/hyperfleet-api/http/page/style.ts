import { createHash } from 'node:crypto'

export const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 60rem; padding: 1rem }
h2 { border-bottom: 1px solid; margin-top: 3rem }
code, pre { font: .875rem/1.4 ui-monospace, monospace }
pre { border: 1px solid; border-radius: .25rem; overflow: auto; padding: .5rem }
summary { cursor: pointer; padding: .25rem 0 }
summary code { font-weight: bold; margin-right: .5rem }
table { border-collapse: collapse; width: 100% }
td, th { border-bottom: 1px solid; padding: .25rem .5rem; text-align: left; vertical-align: top }
nav ul { columns: 3; padding-left: 1rem }
details > :not(summary) { margin-left: 1rem }
`

/** Nothing but this page's own style may be loaded or run. */
export const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
