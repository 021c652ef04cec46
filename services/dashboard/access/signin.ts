import { html, type Markup } from '#lib/markup/markup.ts'
import { command } from '../parts/table.ts'
import { DASHBOARD_RIGHT } from './guard.ts'

/** Asks for a token. @param problem with the one that was given */
export const renderSignIn = (problem: string | undefined): Markup => html`
${problem === undefined ? undefined : html`<p id="problem" class="problem">${problem}</p>`}
<p>A user that may <code>${DASHBOARD_RIGHT.verb}</code> the path <code>${DASHBOARD_RIGHT.path}</code> of the API server may look. Make a token, such as</p>
${command('kubectl create token muster-dashboard-viewer -n hyperfleet-system --audience=muster')}
<form class="sign-in" method="post" action="/sign-in">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required${
  problem === undefined ? undefined : html` aria-invalid="true" aria-describedby="problem"`
}>
<button>Sign in</button></form>`

/** Says which user is not let in, and how to change that. */
export const renderForbidden = (viewer: string): Markup => html`
<p>The API server knows you as <code>${viewer}</code>, who may not <code>${DASHBOARD_RIGHT.verb}</code> the path <code>${DASHBOARD_RIGHT.path}</code>.</p>
<p>An administrator (a user that may write ClusterRoleBindings) can let you in:</p>
${command(bindingLine(viewer))}
<form method="post" action="/sign-out"><button>Sign in as another user</button></form>`

/** `system:serviceaccount:ns:name` is a ServiceAccount, everything else a user. */
const bindingLine = (viewer: string): string => {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(viewer) ?? []
  const subject = namespace === undefined ? `--user=${quoted(viewer)}` : `--serviceaccount=${namespace}:${name}`
  return `kubectl create clusterrolebinding muster-dashboard-${name ?? 'user'} --clusterrole=muster-dashboard-viewer ${subject}`
}

/** For a shell. Names of users come from elsewhere, and such lines are copied. */
const quoted = (text: string): string => (/^[\w@.:/+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
