import { html, type Markup } from '#lib/markup/markup.ts'

/** Said by pages of controllers that run elsewhere. @param controllers as `--controllers` names them */
export const runsElsewhere = (...controllers: readonly string[]): Markup =>
  html`<p class="empty">This manager does not run ${controllers.join(' or ')}, so it knows nothing of this. Open the dashboard of the
one that does, or add it to <code>--controllers</code>.</p>`
